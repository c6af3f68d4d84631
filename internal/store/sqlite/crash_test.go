package sqlite

const crashChild = "CAIRN_TEST_CRASH_DIR"

func crashWriter(string) {}
