package provider_test

import (
	"fmt"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// A row that was found is its user's own: changing it changes no other.
func TestRowsAreTheirUsersOwn(t *testing.T) {
	spoil := func(v provider.Vendor) {
		for i := range v.Settings {
			v.Settings[i].Default = "spoilt"
		}
		for i := range v.KeyEnv {
			v.KeyEnv[i] = "SPOILT"
		}
		for name := range v.Headers {
			v.Headers[name] = "spoilt"
		}
	}
	want := fmt.Sprintf("%+v", provider.Vendors()) // a text, because rows that share memory would be equal
	for _, v := range provider.Vendors() {
		spoil(v)
		found, known := provider.Find(v.ID)
		if !known || found.ID != v.ID {
			t.Errorf("%s is not found", v.ID)
		}
		spoil(found)
	}
	if got := fmt.Sprintf("%+v", provider.Vendors()); got != want {
		t.Errorf("the table is\n%s\nand was\n%s", got, want)
	}
}
