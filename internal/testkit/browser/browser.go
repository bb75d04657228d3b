// Package browser drives a real Chromium for tests: pages, forms, cookies and policies as a browser sees them, and
// pictures of them. It speaks the DevTools protocol over a pipe, so that no port is open and no library is needed.
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

// patience bounds a single command, and a wait for a page.
const patience = 30 * time.Second

// Browser is a running Chromium with a profile of its own. It ends with the test.
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

// Start starts a browser, or skips the test where none is installed.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv(EnvRequire) != "" {
			t.Fatal(err)
		}
		t.Skip("no chromium: ", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	// The name of the profile's folder must be short: sockets are made in it.
	profile, err := os.MkdirTemp("", "chr") //nolint:usetesting // the test's own is too long
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--remote-debugging-pipe", "--user-data-dir="+profile, "--hide-scrollbars", "--disable-background-networking", "about:blank")
	// Chromium reads commands from descriptor 3 and writes answers to 4, each ended by a NUL.
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

// read hands answers to those who wait for them, until the browser has gone.
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
	answer := make(chan reply, 1)
	b.waiting[id] = answer
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
	case r := <-answer:
		if r.Error != nil {
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.Result, result)
	case <-b.ended:
		return errors.New("the browser has ended")
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer", method)
	}
}

// Tab is one page, with cookies that it shares with no other.
type Tab struct {
	b       *Browser
	session string
}

// Options is how a tab looks.
type Options struct {
	Width, Height int
	Dark          bool
}

// Open opens a tab of its own.
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
	b.must(b.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context.ID}, &target))
	b.must(b.call("", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached))
	t := &Tab{b: b, session: attached.SessionID}
	scheme := "light"
	if o.Dark {
		scheme = "dark"
	}
	b.must(b.call(t.session, "Page.enable", map[string]any{}, nil))
	b.must(b.call(t.session, "Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil))
	b.must(b.call(t.session, "Emulation.setDeviceMetricsOverride", map[string]any{
		"width": o.Width, "height": o.Height, "deviceScaleFactor": 1, "mobile": o.Width < 500,
	}, nil))
	return t
}

func (b *Browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// Go opens an address and waits until its page has loaded. The reply to Page.navigate may come while the page before is
// still there, so that page is marked and Go waits for one without the mark.
func (t *Tab) Go(url string) {
	t.b.t.Helper()
	if _, err := t.Eval("window.leaving = true"); err != nil {
		t.b.t.Fatal(err)
	}
	t.b.must(t.b.call(t.session, "Page.navigate", map[string]any{"url": url}, nil))
	t.Wait("document.readyState === 'complete' && window.leaving === undefined")
}

// Eval runs an expression in the page and returns what it gives. The page's own policy does not bind it.
func (t *Tab) Eval(expression string) (any, error) {
	var r struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	err := t.b.call(t.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "userGesture": true}, &r)
	if err == nil && r.Exception != nil {
		err = fmt.Errorf("%s: %s", expression, r.Exception.Text)
	}
	return r.Result.Value, err
}

// Text is Eval for an expression that gives a text.
func (t *Tab) Text(expression string) string {
	t.b.t.Helper()
	v, err := t.Eval(expression)
	t.b.must(err)
	s, _ := v.(string)
	return s
}

// Wait returns when the expression is true; the test fails if that takes too long.
func (t *Tab) Wait(expression string) {
	t.b.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		// While one page gives way to the next there is nothing to run it in.
		if v, err := t.Eval(expression); err == nil && v == true {
			return
		}
	}
	at, _ := t.Eval("location.href + ' ' + document.body.innerText")
	t.b.t.Fatalf("%s did not become true; the page is %v", expression, at)
}

// Type puts a text where the focus is, as the keyboard would. A browser sets the focus of a new page when it first draws
// it, so Type waits until a field has the focus.
func (t *Tab) Type(text string) {
	t.b.t.Helper()
	t.Wait("document.activeElement?.matches('input, textarea, [contenteditable]') === true")
	t.b.must(t.b.call(t.session, "Input.insertText", map[string]any{"text": text}, nil))
}

// Press presses a key: "Tab", "Enter".
func (t *Tab) Press(key string) {
	t.b.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13, " ": 32}[key]
	down := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
	if key == "Enter" {
		down["text"] = "\r"
	}
	t.b.must(t.b.call(t.session, "Input.dispatchKeyEvent", down, nil))
	t.b.must(t.b.call(t.session, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code}, nil))
}

// Picture returns the page as a PNG.
func (t *Tab) Picture() []byte {
	t.b.t.Helper()
	var r struct {
		Data string `json:"data"`
	}
	t.b.must(t.b.call(t.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &r))
	png, err := base64.StdEncoding.DecodeString(r.Data)
	t.b.must(err)
	return png
}

// Cookie is a cookie as the browser keeps it.
type Cookie struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	HTTPOnly bool   `json:"httpOnly"`
	Secure   bool   `json:"secure"`
	SameSite string `json:"sameSite"`
}

// Cookies returns those that the page's address would get.
func (t *Tab) Cookies() []Cookie {
	t.b.t.Helper()
	var r struct {
		Cookies []Cookie `json:"cookies"`
	}
	t.b.must(t.b.call(t.session, "Network.getCookies", map[string]any{}, &r))
	return r.Cookies
}
