package server

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"strings"
)

// wantsHTML reports whether a person will see the response: browsers ask for HTML for pages.
func wantsHTML(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// writeLoginPage answers 401 with the login page. It sends no challenge, for which browsers would open a dialog of
// their own.
func (s *Server) writeLoginPage(w http.ResponseWriter, why, next string) {
	user, field, hint := "", "Secret",
		"The secret is the content of <code>server.secret</code> in cairn’s data directory; <code>cairn doctor</code> "+
			"shows its path."
	if s.config.Password != "" {
		user = `<label>User <input name="user" autocomplete="username" required></label>`
		field, hint = "Password", "The password is that of <code>CAIRN_SERVER_PASSWORD</code>."
	}
	if why != "" {
		why = `<p role="alert">` + html.EscapeString(why) + `</p>`
	}
	s.writePage(
		w,
		http.StatusUnauthorized,
		fmt.Sprintf(
			`<h1>Log in to cairn</h1>%s<form method="post" action="%s">%s<label>%s `+
				`<input name="password" type="password" autocomplete="current-password" required autofocus></label>`+
				`<input type="hidden" name="next" value="%s"><button>Log in</button></form><p>%s</p>`,
			why,
			loginPath,
			user,
			field,
			html.EscapeString(localTarget(next)),
			hint,
		),
	)
}

// writeLoggedInPage writes the page that a browser without another target sees after the login.
func (s *Server) writeLoggedInPage(w http.ResponseWriter, _ *http.Request) {
	s.writePage(
		w,
		http.StatusOK,
		fmt.Sprintf(
			`<h1>You are logged in to cairn</h1><p>`+
				`The API is described at <a href="/doc">/doc</a> and <a href="/api/doc">/api/doc</a>.</p>`+
				`<form method="post" action="%s"><button>Log out</button></form>`,
			logoutPath,
		),
	)
}

const pageStyle = `body{font:1rem/1.5 system-ui,sans-serif;` +
	`max-width:26rem;margin:12vh auto;padding:0 1rem;color:#222;background:#fafafa}` +
	`label,button{display:block;margin:1rem 0}input{display:block;width:100%;box-sizing:border-box;` +
	`font:inherit;padding:.4rem}button{font:inherit;padding:.4rem 1rem}` +
	`[role=alert]{color:#b00020}` +
	`@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8bf}[role=alert]{color:#f88}}`

// writePage answers with HTML that loads nothing, runs nothing and sends its forms only to this server.
func (s *Server) writePage(w http.ResponseWriter, status int, body string) {
	sum := sha256.Sum256([]byte(pageStyle))
	h := w.Header()
	h.Set(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(
			sum[:],
		)+"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "strict-origin") // with no-referrer, forms would say that they come from nowhere
	h.Add("Vary", "Accept")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(
		w,
		`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">`+
			`<title>cairn</title><style>%s</style><main>%s</main></html>`,
		pageStyle,
		body,
	)
}
