package a

func inTest() {
	work()
}
