// Package llmtest is the exam that every protocol must pass: recorded traffic, whole and broken, in the words that all
// protocols share. It exists for tests only.
package llmtest
