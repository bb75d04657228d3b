// Package browser drives a headless Chromium in tests: pages, forms, cookies, passkeys and screenshots.
//
// It sends DevTools commands over a pipe. chromedp and rod would replace about 300 lines, but connect over a TCP port
// that every local process can use. Measured with Go 1.26 against a program that uses net/http and encoding/json,
// chromedp 0.14.2 adds 1.2 MB to a stripped binary and 13 CPU seconds to a cold build, rod 0.116.2 adds 5.2 MB and 14
// seconds.
package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// EnvRequire makes a missing browser fail a test instead of skipping it.
const EnvRequire = "CARREL_TEST_REQUIRE_BROWSER"

// timeout limits a single command, and the wait for a condition.
const timeout = 30 * time.Second

// Browser is a running Chromium with a temporary profile. It is stopped at the end of the test.
type Browser struct {
	t   testing.TB
	in  io.WriteCloser
	cmd *exec.Cmd

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	ended   chan struct{}
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Start starts a browser, or skips the test if Chromium is not installed.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium-headless-shell") // needs a third less processor time
	if err != nil {
		path, err = exec.LookPath("chromium")
	}
	if err != nil {
		if os.Getenv(EnvRequire) != "" {
			t.Fatal(err)
		}
		t.Skip("no chromium: ", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	// Chromium creates sockets in the profile, whose paths are limited to about 100 characters.
	profile, err := os.MkdirTemp("", "chr") //nolint:usetesting // t.TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--remote-debugging-pipe", "--user-data-dir="+profile, "--hide-scrollbars",
		"--disable-background-networking", "about:blank")
	// Chromium reads commands from descriptor 3 and writes replies to 4, each terminated by a NUL.
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirIn.Close()
	_ = theirOut.Close()
	b := &Browser{t: t, in: in, cmd: cmd, waiting: map[int]chan reply{}, ended: make(chan struct{})}
	go b.read(out)
	t.Cleanup(func() {
		_ = in.Close()
		cancel()
		_ = cmd.Wait() // killed
		<-b.ended
		_ = out.Close()
		_ = os.RemoveAll(profile)
	})
	return b
}

// read passes replies to the waiting calls until the browser exits.
func (b *Browser) read(out io.Reader) {
	defer close(b.ended)
	r := bufio.NewReader(out)
	for {
		message, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID int `json:"id"`
			reply
		}
		if json.Unmarshal(message[:len(message)-1], &m) != nil || m.ID == 0 {
			continue // an event
		}
		b.mu.Lock()
		waiting := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		if waiting != nil {
			waiting <- m.reply
		}
	}
}

// call sends a command and returns its result.
func (b *Browser) call(session, method string, params, result any) error {
	b.mu.Lock()
	b.next++
	id := b.next
	replies := make(chan reply, 1)
	b.waiting[id] = replies
	message, err := json.Marshal(map[string]any{"id": id, "sessionId": session, "method": method, "params": params})
	if session == "" {
		message, err = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if err == nil {
		_, err = b.in.Write(append(message, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case r := <-replies:
		if r.Error != nil {
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.Result, result)
	case <-b.ended:
		return errors.New("the browser has exited")
	case <-time.After(timeout):
		return fmt.Errorf("%s: no reply within %v", method, timeout)
	}
}

// Tab is one page with its own cookies.
type Tab struct {
	b       *Browser
	session string
}

// Options are the window size and color scheme of a tab.
type Options struct {
	Width, Height int
	Dark          bool
}

// Open opens a tab with its own cookies.
func (b *Browser) Open(o Options) *Tab {
	b.t.Helper()
	var context struct {
		ID string `json:"browserContextId"`
	}
	var target struct {
		ID string `json:"targetId"`
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.must(b.call("", "Target.createBrowserContext", map[string]any{}, &context))
	b.must(b.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context.ID},
		&target))
	b.must(b.call("", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached))
	t := &Tab{b: b, session: attached.SessionID}
	scheme := "light"
	if o.Dark {
		scheme = "dark"
	}
	t.call("Page.enable", map[string]any{}, nil)
	t.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
	t.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": o.Width, "height": o.Height, "deviceScaleFactor": 1, "mobile": o.Width < 500,
	}, nil)
	return t
}

// call sends a command to the tab and fails the test if the command fails.
func (t *Tab) call(method string, params, result any) {
	t.b.t.Helper()
	t.b.must(t.b.call(t.session, method, params, result))
}

func (b *Browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// Go navigates to a URL and waits until the page has loaded. The reply to Page.navigate may arrive before the old page
// is replaced, so Go marks the old page and waits for one without the mark.
func (t *Tab) Go(url string) {
	t.b.t.Helper()
	if _, err := t.Eval("window.leaving = true"); err != nil {
		t.b.t.Fatal(err)
	}
	t.call("Page.navigate", map[string]any{"url": url}, nil)
	t.Wait("document.readyState === 'complete' && window.leaving === undefined")
}

// Eval evaluates an expression in the page. The page's Content-Security-Policy does not apply to it.
func (t *Tab) Eval(expression string) (any, error) {
	var r struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	err := t.b.call(t.session, "Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "userGesture": true,
	}, &r)
	if err == nil && r.Exception != nil {
		err = fmt.Errorf("%s: %s", expression, r.Exception.Text)
	}
	return r.Result.Value, err
}

// Text evaluates an expression whose value is a string.
func (t *Tab) Text(expression string) string {
	t.b.t.Helper()
	v, err := t.Eval(expression)
	t.b.must(err)
	s, _ := v.(string)
	return s
}

// Wait waits until an expression is true. The test fails after a timeout.
func (t *Tab) Wait(expression string) {
	t.b.t.Helper()
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		// Eval fails while one page replaces another.
		if v, err := t.Eval(expression); err == nil && v == true {
			return
		}
	}
	at, _ := t.Eval("location.href + ' ' + document.body.innerText")
	t.b.t.Fatalf("%s did not become true; the page is %v", expression, at)
}

// Type types a text into the focused field. It waits for the focus, because autofocus takes effect when a page is first
// drawn.
func (t *Tab) Type(text string) {
	t.b.t.Helper()
	t.Wait("document.activeElement?.matches('input, textarea, [contenteditable]') === true")
	t.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Press presses a key: "Tab", "Enter" or " ".
func (t *Tab) Press(key string) {
	t.b.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13, " ": 32}[key]
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
	if key == "Enter" {
		down["text"] = "\r"
	}
	t.call("Input.dispatchKeyEvent", down, nil)
	t.call("Input.dispatchKeyEvent", map[string]any{
		"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code,
	}, nil)
}

// Screenshot returns the page as a PNG.
func (t *Tab) Screenshot() []byte {
	t.b.t.Helper()
	var r struct {
		Data string `json:"data"`
	}
	t.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	png, err := base64.StdEncoding.DecodeString(r.Data)
	t.b.must(err)
	return png
}

// Cookie is a cookie in the browser.
type Cookie struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	HTTPOnly bool   `json:"httpOnly"`
	Secure   bool   `json:"secure"`
	SameSite string `json:"sameSite"`
}

// Cookies returns the cookies that are sent to the URL of the page.
func (t *Tab) Cookies() []Cookie {
	t.b.t.Helper()
	var r struct {
		Cookies []Cookie `json:"cookies"`
	}
	t.call("Network.getCookies", map[string]any{}, &r)
	return r.Cookies
}
