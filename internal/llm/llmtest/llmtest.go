// Package llmtest is the exam that every protocol must pass: recorded traffic, whole and broken, in the words that all
// protocols share; requests of conversations that nobody recorded; the contract of a stream on any bytes. It exists for
// tests only.
package llmtest
