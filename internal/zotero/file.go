package zotero

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// File is the file of an attachment.
type File struct {
	// Body is the content; nil if the file is at Path. The caller closes it.
	Body io.ReadCloser
	// Compressed is set if the content is a zip archive with the file, such as the snapshot of a web page.
	Compressed bool
	// Path is the path of the file on the machine of the Zotero program. Only the local API returns it.
	Path string
}

// errRedirect means that a file can't be reached by its redirects.
var errRedirect = fmt.Errorf("%w: too many or invalid redirects", ErrUnreadable)

const maxRedirects = 5

// File opens the file of an attachment. The API redirects to the storage, which must not receive the key.
func (l *Library) File(ctx context.Context, key string) (*File, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	res, err := l.send(ctx, request{method: http.MethodGet, path: l.path("/items/" + key + "/file")})
	f := &File{}
	for range maxRedirects {
		if err != nil || !isRedirect(res.StatusCode) {
			break
		}
		_ = res.Body.Close() // the body of a redirect is not used
		f.Compressed = f.Compressed || strings.EqualFold(res.Header.Get("Zotero-File-Compressed"), "Yes")
		var to *url.URL
		if to, err = res.Request.URL.Parse(res.Header.Get("Location")); err != nil || res.Header.Get("Location") == "" {
			err = errRedirect
			break
		}
		switch to.Scheme {
		case "file":
			cancel()
			f.Path = to.Path
			return f, nil
		case "http", "https":
			res, err = l.fetch(ctx, to) //nolint:bodyclose // closed above or by the caller
		default:
			err = errRedirect
		}
	}
	switch {
	case err != nil:
	case isRedirect(res.StatusCode):
		err = errRedirect
	case res.StatusCode != http.StatusOK:
		_ = res.Body.Close() // the body of an error is not used
		err = &Error{Status: res.StatusCode}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	f.Compressed = f.Compressed || strings.EqualFold(res.Header.Get("Zotero-File-Compressed"), "Yes")
	f.Body = &fileBody{res.Body, cancel}
	return f, nil
}

func isRedirect(status int) bool {
	return status > 300 && status < 400 && status != http.StatusNotModified
}

// fetch requests a file from the storage, without the headers of the API.
func (l *Library) fetch(ctx context.Context, to *url.URL) (*http.Response, error) {
	if to.User != nil {
		return nil, errRedirect // net/http would send the user name and password of the address
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), http.NoBody)
	if err != nil {
		return nil, errRedirect
	}
	req.Header.Set("User-Agent", l.o.UserAgent)
	res, err := l.o.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return res, nil
}

// fileBody cancels its request when it is closed.
type fileBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *fileBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
