package auth

import "testing"

func TestLogins(t *testing.T) {
	s := store(t, nil)
	ctx := t.Context()
	for _, l := range []Login{{"https://b", "", Secret{}}, {"https://a", "TEAM_TOKEN", NewSecret(canary + "\n")}} {
		if err := s.SetLogin(ctx, l); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Set(ctx, "openai", NewSecret("k")); err != nil {
		t.Fatal(err)
	}
	list, err := s.ListLogins()
	if err != nil || len(list) != 2 || list[0].Address != "https://a" || list[0].Env != "TEAM_TOKEN" ||
		list[0].Token.Reveal() != canary ||
		list[1].Env != "" {
		t.Errorf("got %v, %v", list, err)
	}
	if c, ok, err := s.Get("other", "NO", "TEAM_TOKEN"); err != nil || !ok || c.Key.Reveal() != canary ||
		c.From != "the login at https://a" {
		t.Errorf("the token by its name: %+v %v %v", c, ok, err)
	}
	if err := s.SetLogin(ctx, Login{"https://a", "X", NewSecret("a\x00")}); err == nil {
		t.Error("a control character was stored")
	}
}
