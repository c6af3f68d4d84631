package canary

import "strings"

// keys are private keys in all forms.
var keys = [][2]string{
	{"RSA key", "-----BEGIN RSA PRIVATE KEY-----\n" +
		"«MIIEowIBAAKCAQEAcanary0123456789abcdefABCDEFxyzTUVWXYZ0123456789»\n-----END RSA PRIVATE KEY-----"},
	{"numbered lines of an OpenSSH key that is cut off", "1: -----BEGIN OPENSSH PRIVATE KEY-----\n" +
		"2: «b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2»\n(cut)"},
	{"EC key", "-----BEGIN EC PRIVATE KEY-----\n«MHcCAQEEIcanary0123456789abcdefghijklmnopqrstuvwxyzAB»\n-----END EC PRIVATE KEY-----\n"},
	{"DSA key", "-----BEGIN DSA PRIVATE KEY-----\n«MIIBuwIBAAKBgQDcanary0123456789abcdefghijklmnopqrstuv»\n-----END DSA PRIVATE KEY-----\n"},
	{"PKCS 8 key", "-----BEGIN PRIVATE KEY-----\n«MIGHAgEAMBMGByqGSM49canary0123456789abcdefghijklmnop»\n-----END PRIVATE KEY-----\n"},
	{"encrypted key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n«MIIFHDBOBgkqhkiG9w0BBQcanary0123456789abcdefghijklmn»\n-----END ENCRYPTED PRIVATE KEY-----\n"},
	{"encrypted key with headers", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n" +
		"DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n«MIIEowIBAAKCAQEAcanary0123456789»\n-----END RSA PRIVATE KEY-----"},
	{"PGP key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«lQVYBGcanary0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ»\n" +
		"«RSTUVWcanary9876543210zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJ»\n=aBcD\n-----END PGP PRIVATE KEY BLOCK-----\n"},
	{"PGP key with headers", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2.2.27 (GNU/Linux)\nComment: canary\n\n" +
		"«lQVYBGcanary0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ»\n=aBcD\n-----END PGP PRIVATE KEY BLOCK-----\n"},
	{"SSH2 key", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"canary\"\n" +
		"«P2/56wAAAYcanary0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL»\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n"},
	{"PuTTY key", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: canary\nPublic-Lines: 2\n" +
		"AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9\nGKJl\nPrivate-Lines: 1\n" +
		"«AAAAIcanary0123456789abcdefghijklmnopqrstuvwxyz+/ABCD»\nPrivate-MAC: 0a1b2c3d\n"},
	{"key in JSON", `{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\n` +
		`«MIIEvQIBADANBgkqhkiG9w0BAQEFAASCcanary0123456789»\n-----END PRIVATE KEY-----\n", "client_email": "a@b.c"}`},
	{"key in one line", `SSH_KEY="-----BEGIN OPENSSH PRIVATE KEY-----\n«b3BlbnNzaC1rZXktdjEAAAAABG5vbmUcanary0123456789»\n-----END OPENSSH PRIVATE KEY-----"`},
	{"key in YAML", "tls:\n  key: |\n    -----BEGIN PRIVATE KEY-----\n    «MIGHAgEAMBMGByqGSM49canary9876543210abcdefghijklmnop»\n    -----END PRIVATE KEY-----\n"},
	{"key in a diff", "+-----BEGIN RSA PRIVATE KEY-----\n+«MIIEowIBAAKCAQEAcanary1111111111abcdefABCDEFxyzTUVWXYZ0123456789»\n+-----END RSA PRIVATE KEY-----"},
	{"key in base64", "echo «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb3dJQkFBS0NBUUVBY2FuYXJ5MDEyMzQ1Njc4OQ==» | base64 -d"},
	{"JWK", `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",` +
		`"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"«jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9canary»"}`},
	{"large JWK", `{"kty":"RSA","n":"` + strings.Repeat("0vx7agoebGcQ", 57) + `","e":"AQAB","d":"«` + strings.Repeat("X4cTcanaryY_", 57) + `»",` +
		`"p":"«` + strings.Repeat("83i-canaryMG", 29) + `»","q":"«` + strings.Repeat("3dfOcanarycu", 29) + `»","dp":"«` + strings.Repeat("G4sPcanary6Y", 29) +
		`»","dq":"«` + strings.Repeat("s9lAcanaryfg", 29) + `»","qi":"«` + strings.Repeat("GyM_canaryrX", 29) + `»"}`},
	{"symmetric JWK", `{"keys":[{"kty":"oct","kid":"1","k":"«c2hvcnQtY2FuYXJ5»"}]}`},
	{"JWK in code", "const key = {kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',\n  " +
		"d: '«nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAcanary»'}"},
	{"JWK in Python", "{'kty': 'OKP', 'crv': 'Ed25519', 'd': '«nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAcanary»'}"},
	{"JWK in YAML", "kty: oct\nk: «AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQcanary»\n"},
	{"part of a key in a diff", "@@ -2,3 +2,3 @@\n «MIIEowIBAAKCAQEAcanary2222222222abcdefABCDEFxyzTUVWXYZ0123456789»\n" +
		"-«bbbbowIBAAKCAQEAcanary3333333333abcdefABCDEFxyzTUVWXYZ0123456789»\n+«ccccowIBAAKCAQEAcanary4444444444abcdefABCDEFxyzTUVWXYZ0123456789»\n" +
		" -----END RSA PRIVATE KEY-----"},
	{"part of a key in JSON of Windows", `{"content":"«MIIEowIBAAKCAQEAcanary7777777777abcdefABCDEFxyzTUVWXYZ0123456789»\r\n` +
		`«bbbbowIBAAKCAQEAcanary8888888888abcdefABCDEFxyzTUVWXYZ0123456789»\r\n-----END RSA PRIVATE KEY-----\r\n"}`},
	{"part of an SSH2 key in a diff", "@@ -2,3 +2,3 @@\n «MIIEowIBAAKCAQEAcanary9999999999abcdefABCDEFxyzTUVWXYZ0123456789»\n" +
		" ---- END SSH2 ENCRYPTED PRIVATE KEY ----\n"},
	{"parts of a key in a diff", "-----BEGIN RSA PRIVATE KEY-----\n@@ -2,3 +2,4 @@ func main\n " +
		"«MIIEowIBAAKCAQEAcanary5555555555abcdefABCDEFxyzTUVWXYZ0123456789»\n@@ -20,3 +21,4 @@ key\n+«ccccowIBAAKCAQEAcanary6666666666abcdefABCDEFxyzTUVWXYZ0123456789»\n" +
		" -----END RSA PRIVATE KEY-----"},
	{"numbered lines of the end of a key", " 12 + «MIIEowIBAAKCAQEAcanary7777777777abcdefABCDEFxyzTUVWXYZ0123456789»\n" +
		" 13 + «ccccowIBAAKCAQEAcanary8888888888»\n 14   -----END RSA PRIVATE KEY-----"},
	{"age", "# created: 2026\n«AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX»"},
	{"WireGuard", "[Interface]\nPrivateKey = «yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=»\nAddress = 10.0.0.1/32\n"},
	{"wallet", "«xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi»"},
	{"minisign", "untrusted comment: minisign encrypted secret key\n«RWRTY0IyCanary0123456789abcdefghijklmnopqrstuvwxyz+/ABCDEFGHIJKLMNOPQRSTUV==»\n"},
}
