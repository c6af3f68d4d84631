// Package terminal writes to terminals and reads from them: streams, tables, lines that are replaced while work goes
// on, and text of others without control characters.
package terminal
