package programs

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"carrel/internal/testkit"
)

// approve signs in and decides on the consent page, as the browser that carrel login opens.
func approve(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: approve FILE EMAIL PASSWORD allow|deny")
	}
	var address []byte
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var err error
		if address, err = os.ReadFile(ts.MkAbs(args[0])); err == nil {
			break
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no address is written to %s", args[0])
		}
	}
	ts.Check(os.Remove(ts.MkAbs(args[0])))
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	browser := scriptBrowser{ts: ts, client: &http.Client{Jar: jar, Timeout: time.Minute}}
	page := browser.get(strings.TrimSpace(string(address)))
	form := testkit.HiddenFields(page)
	form.Set("email", args[1])
	form.Set("password", args[2])
	page = browser.post(ts.Getenv("BASE")+"/sign-in", form)
	if !strings.Contains(page, "Carrel CLI") || !strings.Contains(page, args[1]) {
		ts.Fatalf("this is not the consent page:\n%s", page)
	}
	form = testkit.HiddenFields(page)
	form.Set("decision", args[3])
	page = browser.post(ts.Getenv("BASE")+"/api/auth/mcp/authorize", form)
	if !strings.Contains(page, "return to the terminal") {
		ts.Fatalf("the terminal shows the page\n%s", page)
	}
}

// scriptBrowser follows redirects and keeps cookies.
type scriptBrowser struct {
	ts     *testscript.TestScript
	client *http.Client
}

func (b scriptBrowser) get(address string) string {
	res, err := b.client.Get(address)
	b.ts.Check(err)
	return b.read(res)
}

// post submits a form of the server's own pages.
func (b scriptBrowser) post(address string, form url.Values) string {
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
	b.ts.Check(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", b.ts.Getenv("BASE"))
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := b.client.Do(req)
	b.ts.Check(err)
	return b.read(res)
}

func (b scriptBrowser) read(res *http.Response) string {
	page, err := io.ReadAll(res.Body)
	b.ts.Check(err)
	b.ts.Check(res.Body.Close())
	b.client.CloseIdleConnections()
	return string(page)
}
