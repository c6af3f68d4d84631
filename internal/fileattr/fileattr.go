// Package fileattr reads and copies attributes of files that the standard library does not know.
package fileattr
