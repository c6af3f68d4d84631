//go:build !unix

package mcp_test

func startChild() int { return 0 }
