//go:build !linux

package host

const takenRole = "HOST_TEST_TAKEN_ROLE"

func playTaken(string) string { return "only Linux closes processes to others" }
