package cli

// PrintResult prints v as JSON with --json, else with text.
func PrintResult[T any](a *Invocation, v T, text func(T)) error {
	if a.JSON {
		return a.PrintJSON(v)
	}
	text(v)
	return nil
}

// List is the form of a list: JSON with --json, else a table.
type List[T any] struct {
	Head  []string
	Right []string // heads of the columns of numbers
	Row   func(T) []string
	Empty string // the sentence that replaces a table without rows; "" prints the head alone
}

// Print prints the items.
func (l List[T]) Print(a *Invocation, items []T) error {
	return PrintResult(a, items, func(items []T) {
		if len(items) == 0 && l.Empty != "" {
			a.Err.Printf("%s\n", l.Empty)
			return
		}
		t := a.NewTable(l.Head...)
		t.Right = l.Right
		for _, item := range items {
			t.AddRow(l.Row(item)...)
		}
		t.Print()
	})
}
