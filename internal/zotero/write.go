package zotero

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"carrel/internal/outbound"
)

// Written is the result of a write request, by the position of the object in the request.
type Written struct {
	// Keys are the keys of the objects that were written or had already this content.
	Keys map[int]string
	// Failed are the objects that were refused, with an HTTP status each.
	Failed map[int]int
}

// Create creates items or collections, at most MaxObjects. A server executes requests with the same token once, and
// replies to the others with 412.
func (l *Library) Create(ctx context.Context, kind, token string, objects []any) (Written, error) {
	return l.write(ctx, kind, http.Header{"Zotero-Write-Token": {token}}, objects)
}

// Update changes fields of items, at most MaxObjects. Each object has its key, and the version that the change is based
// on: an object that has changed since fails with 412.
func (l *Library) Update(ctx context.Context, objects []any) (Written, error) {
	return l.write(ctx, "items", http.Header{}, objects)
}

func (l *Library) write(ctx context.Context, kind string, header http.Header, objects []any) (Written, error) {
	body, err := json.Marshal(objects)
	if err != nil {
		return Written{}, fmt.Errorf("zotero: encode objects: %w", err)
	}
	header.Set("Content-Type", "application/json")
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	res, err := l.send(ctx, request{method: http.MethodPost, path: l.path("/" + kind), header: header, body: body})
	if err != nil {
		return Written{}, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return Written{}, &Error{Status: res.StatusCode}
	}
	b, err := outbound.ReadAll(res.Body, maxReply)
	if err != nil {
		return Written{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return readWritten(b)
}

// readWritten decodes the reply to a write request. Its maps have positions as keys.
func readWritten(b []byte) (Written, error) {
	var reply struct {
		Successful map[string]struct {
			Key string `json:"key"`
		} `json:"successful"`
		Success   map[string]string `json:"success"`
		Unchanged map[string]string `json:"unchanged"`
		Failed    map[string]struct {
			Code int `json:"code"`
		} `json:"failed"`
	}
	// The lists of an empty result are [] instead of {}, because the server is written in PHP.
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return Written{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	for name, value := range raw {
		if string(value) == "[]" {
			delete(raw, name)
		}
	}
	clean, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(clean, &reply)
	}
	if err != nil {
		return Written{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	w := Written{Keys: map[int]string{}, Failed: map[int]int{}}
	add := func(at, key string) {
		if n, err := strconv.Atoi(at); err == nil && IsKey(key) {
			w.Keys[n] = key
		}
	}
	for at, key := range reply.Success {
		add(at, key)
	}
	for at, key := range reply.Unchanged {
		add(at, key)
	}
	for at, o := range reply.Successful {
		add(at, o.Key)
	}
	for at, f := range reply.Failed {
		if n, err := strconv.Atoi(at); err == nil {
			w.Failed[n] = f.Code
		}
	}
	return w, nil
}
