package canary

// headers are credentials in requests and their answers.
var headers = [][2]string{
	{"bearer", "curl -H 'Authorization: Bearer «canary0123456789abcdefghij»' http://x"},
	{"basic", "curl -H 'Authorization: Basic «Y2FuYXJ5OmNhbmFyeTEyMw==»' http://x"},
	{"digest", "Authorization: Digest «username=\"bob\", realm=\"x\", nonce=\"0a1b2c3d4e5f6071\", response=\"8293a4b5c6d7e8f90a1b2c3d4e5f6071\"»"},
	{"proxy", "Proxy-Authorization: Basic «Y2FuYXJ5OmNhbmFyeTQ1Ng==»\r\n"},
	{"signature of AWS", "authorization: AWS4-HMAC-SHA256 «Credential=AKIAQ3EGRTB7WZ5YXK2M/20240101/us-east-1/s3/aws4_request, " +
		"SignedHeaders=host, Signature=0a1b2c3d4e5f60718293a4b5c6d7e8f9»"},
	{"key in a header", "> X-Api-Key: «0a1b2c3d4e5f60718293»\n"},
	{"token in a header", "wget --header=\"PRIVATE-TOKEN: «abcdefgh1234»\" http://x"},
	{"cookie", "> GET / HTTP/1.1\n> Cookie: «sid=canary0123456789; theme=dark»\n> Accept: */*"},
	{"cookie that is set", "< set-cookie: «session=canary9876543210; Path=/; HttpOnly»\r\n< etag: 1"},
	{"file of cookies", "# Netscape HTTP Cookie File\n.example.org\tTRUE\t/\tTRUE\t1790000000\tsession\t«canary0123456789abcdef0123456789»\n"},
	{"JWT", "token «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c» ok"},
	{"form", "POST /login?user=a&password=«hunter2canary»&next=%2F"},
	{"answer of OAuth", `{"access_token":"«canary0123456789»","token_type":"Bearer","expires_in":3600,"refresh_token":"«yranac9876543210»"}`},
	{"code of OAuth", "http://localhost:8080/callback?code=«4/0AcanaryX0123456789abcdefghijklmnop»&state=x"},
	{"OTP", "otpauth://totp/Example:bob?secret=«JBSWY3DPEHPK3PXPJBSWY3DP»&issuer=Example"},
}
