package testkit

// UnsafeLinks returns URLs that a link field must reject, in spellings that browsers accept.
func UnsafeLinks() []string {
	return []string{
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "\x01javascript:alert(1)",
		"\tjavascript:alert(1)",
		"java\tscript:alert(1)", "java\nscript:alert(1)", "java\r\nscript:alert(1)", "javascript\t:alert(1)",
		"javascript&colon;alert(1)",
		"&#106;avascript:alert(1)", "&#x6A;avascript:alert(1)", "%6Aavascript:alert(1)",
		"javascript://example.org/%0Aalert(1)",
		"data:text/html,<script>alert(1)</script>", "DATA:text/html;base64,PHNjcmlwdD4=", "vbscript:msgbox(1)",
		"file:///etc/passwd",
		"blob:https://example.org/x", "about:blank", "view-source:https://example.org", "ftp://example.org",
		"mailto:a@example.org",
		"//example.org/x", "/path", "example.org", "https:", "https://", "https:example.org", "https:///x",
		"http:\\\\example.org",
		"https://example.org\\@evil.example", "https://exa\x00mple.org", "https://exam\u0085ple.org", "http://[",
		"https://:443/",
	}
}
