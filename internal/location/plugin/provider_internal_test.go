package plugin

import "testing"

// A provider that has no form in OpenCode's words has no members.
func TestProviderWithoutForm(t *testing.T) {
	for _, provider := range []string{"null", "", "[]", `{"id": "p"}`} {
		if out := withContext([]byte(provider)); out["source"] != "config" || out["options"] == nil {
			t.Errorf("%q: %v", provider, out)
		}
	}
}
