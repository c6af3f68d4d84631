package crush

import "github.com/cairn-dev/cairn/internal/transfer/foreign"

// ConvertRow reads a row of messages alone.
func ConvertRow(role, parts string) foreign.Session {
	c := &converter{Builder: foreign.NewBuilder(foreign.Session{Program: foreign.Crush, ID: "s"})}
	c.addMessage(foreign.Object{
		"id": foreign.Quote("m"), "role": foreign.Quote(role), "parts": foreign.Quote(parts), "created_at": []byte("1754315985"),
	})
	return c.Done()
}
