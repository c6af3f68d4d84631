// Package term is the terminal kit of the commands: streams with colour, tables, numbers for people, text that cannot
// drive the terminal, and asks that a person answers.
package term
