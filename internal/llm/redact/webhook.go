package redact

import (
	"bytes"
	"strings"
)

// webhookShape is the beginning of the address of a webhook, up to its secret part. If any server can have it, the last
// part of the path must look random.
type webhookShape struct {
	prefix    string
	anyServer bool
}

var webhookShapes = []webhookShape{
	{prefix: "hooks.slack.com/services/"},
	{prefix: "hooks.slack.com/workflows/"},
	{prefix: "hooks.slack.com/triggers/"},
	{prefix: "webhook.office.com/webhookb2/"},
	{prefix: "outlook.office.com/webhook/"},
	{prefix: "outlook.office365.com/webhook/"},
	{prefix: "hooks.zapier.com/hooks/catch/"},
	{prefix: "maker.ifttt.com/trigger/"},
	{prefix: "hook.integromat.com/"},
	{prefix: "hook.make.com/"},
	{prefix: "hook.eu1.make.com/"},
	{prefix: "hook.eu2.make.com/"},
	{prefix: "hook.us1.make.com/"},
	{prefix: "hook.us2.make.com/"},
	{prefix: "api.netlify.com/build_hooks/"},
	{prefix: "api.vercel.com/v1/integrations/deploy/"},
	{prefix: "api.cloudflare.com/client/v4/pages/webhooks/deploy_hooks/"},
	{prefix: "api.render.com/deploy/"},
	{prefix: "hc-ping.com/"},
	{prefix: "open.feishu.cn/open-apis/bot/v2/hook/"},
	{prefix: "open.larksuite.com/open-apis/bot/v2/hook/"},
	{prefix: "qyapi.weixin.qq.com/cgi-bin/webhook/send?key="},
	{prefix: "sig="},
	{prefix: "X-Amz-Signature="},
	{prefix: "X-Goog-Signature="},
	{prefix: "webhooks/", anyServer: true}, // Discord
	{prefix: "webhook/", anyServer: true},
	{prefix: "hooks/", anyServer: true}, // Mattermost, Rocket.Chat
}

// find implements wordShape. Addresses in documentation have no secret.
func (s webhookShape) find(text []byte, start, next int) (cut, bool) {
	if !strings.Contains(s.prefix, ".") && (start == 0 || strings.IndexByte("/?&;", text[start-1]) < 0) {
		return cut{}, false
	}
	end := next + lengthBefore(text[next:], "\"'`\\ \t\r\n<>()[]|;,")
	if strings.HasSuffix(s.prefix, "=") {
		end = next + lengthBefore(text[next:end], "&")
	}
	isMasked := bytes.HasPrefix(text[end:], []byte(Mark))
	for end > next && strings.IndexByte("./", text[end-1]) >= 0 {
		end--
	}
	path := text[next:end]
	last := path[bytes.LastIndexByte(path, '/')+1:]
	switch {
	case len(last) < 4 || !hasDigit(path) || bytes.ContainsAny(path, "{$*…") || isPlaceholder(last) || isMasked:
		return cut{}, false
	case s.anyServer:
		address := text[max(0, start-maxCommand):start]
		address = address[bytes.LastIndexAny(address, " \t\n\"'`<(")+1:]
		return cut{end - len(last), end}, bytes.Contains(address, []byte("://")) &&
			(isRandom(last) || s.prefix == "webhook/" && isUUID(last))
	}
	return cut{next, end}, len(path) >= 12
}

// isRandom reports whether a part of a path has 16 letters and digits in a row that look random. An id of Stripe and
// the hash of a commit do not count.
func isRandom(part []byte) bool {
	if bytes.HasPrefix(part, []byte("we_")) || len(part) == 40 && len(bytes.Trim(part, "0123456789abcdef")) == 0 {
		return false
	}
	for len(part) > 0 {
		n := runLength(part, "")
		if n >= 16 && hasDigit(part[:n]) && bytes.ContainsAny(part[:n], letters) {
			return true
		}
		part = part[min(len(part), n+1):]
	}
	return false
}

func isUUID(part []byte) bool {
	return len(part) == 36 && bytes.Count(part, []byte("-")) == 4 && part[8] == '-' && part[23] == '-' &&
		len(bytes.Trim(part, "0123456789abcdefABCDEF-")) == 0
}
