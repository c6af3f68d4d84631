//go:build !linux

package host

// impostorHome is set by no test: other systems have no call marks.
const impostorHome = "HOST_TEST_IMPOSTOR"

func actAsTool(string) string { return "" }
