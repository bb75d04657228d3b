package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"carrel/client"
)

// Kinds of credentials of a profile.
const (
	profileKey   = "key"
	profileOAuth = "oauth"
)

// profile is a server with a credential, stored by carrel login.
type profile struct {
	Server string `json:"server"`
	Kind   string `json:"kind"`
	Key    string `json:"key,omitempty"`

	ClientID string    `json:"clientId,omitempty"`
	Access   string    `json:"access,omitempty"`
	Refresh  string    `json:"refresh,omitempty"`
	Expiry   time.Time `json:"expiry,omitzero"`

	// Account is the e-mail address, if the credential may read it.
	Account string `json:"account,omitempty"`
	// Agent is the id of the agent that commands use by default.
	Agent string `json:"agent,omitempty"`
	// Last is the thread of the last question.
	Last *lastThread `json:"last,omitempty"`
}

// lastThread identifies the thread of the last question, for carrel ask --resume last.
type lastThread struct {
	Agent  string `json:"agent"`
	Thread string `json:"thread"`
}

// profileFile is the content of profiles.json.
type profileFile struct {
	// Default is the name of the profile that is used without --profile.
	Default  string              `json:"default"`
	Profiles map[string]*profile `json:"profiles"`
}

// names returns the names of the profiles in order.
func (f profileFile) names() []string { return slices.Sorted(maps.Keys(f.Profiles)) }

// profileStore is the folder of the profiles. It has mode 0700 and the files in it 0600, because they contain
// credentials.
type profileStore struct{ dir string }

// profileStore returns the folder in the user's configuration folder.
func (env *Env) profileStore() (profileStore, error) {
	dir, err := env.ConfigDir()
	if err != nil {
		return profileStore{}, fmt.Errorf("find the folder for credentials: %w", err)
	}
	return profileStore{filepath.Join(dir, "carrel")}, nil
}

func (s profileStore) path() string { return filepath.Join(s.dir, "profiles.json") }

// read returns the profiles; a missing file has none.
func (s profileStore) read() (profileFile, error) {
	file := profileFile{Profiles: map[string]*profile{}}
	b, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return file, fmt.Errorf("%s: %w", s.path(), err)
	}
	if file.Profiles == nil {
		file.Profiles = map[string]*profile{}
	}
	return file, nil
}

// update changes the profiles. It holds the lock of the folder, so that two commands do not overwrite each other's
// changes and do not use the same refresh token, and replaces the file atomically.
func (s profileStore) update(ctx context.Context, change func(*profileFile) error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // releases the lock
	file, err := s.read()
	if err != nil {
		return err
	}
	if err := change(&file); err != nil {
		return err
	}
	b, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	_, err = writeWhole(s.path(), true, func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
	return err
}

// lockInterval is the pause between two attempts to take the lock of the profiles.
const lockInterval = 20 * time.Millisecond

// lock waits for the lock of the folder. The kernel releases it if the process is killed.
func (s profileStore) lock(ctx context.Context) (*os.File, error) {
	f, err := openLock(filepath.Join(s.dir, "profiles.lock"))
	if err != nil {
		return nil, err
	}
	for {
		free, err := tryLock(f)
		if err == nil && free {
			return f, nil
		}
		if err == nil {
			err = wait(ctx, lockInterval)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}

// updateProfile changes one profile.
func (s profileStore) updateProfile(ctx context.Context, name string, change func(*profile) error) error {
	return s.update(ctx, func(file *profileFile) error {
		p, ok := file.Profiles[name]
		if !ok {
			return notSignedIn()
		}
		return change(p)
	})
}

// notSignedIn is the error of a command that needs a profile.
func notSignedIn() error {
	return &commandError{
		message: "you are not signed in", code: exitSignIn, hint: "Run: carrel login --server https://your-server",
	}
}

// find returns the profile with a name, or else one for the server, or else the default profile.
func (f profileFile) find(name, server string) (string, *profile, error) {
	if name == "" && server != "" {
		for _, n := range f.names() {
			if f.Profiles[n].Server == server {
				return n, f.Profiles[n], nil
			}
		}
		return "", nil, &commandError{
			message: "you are not signed in to " + server, code: exitSignIn, hint: "Run: carrel login --server " + server,
		}
	}
	name = cmp.Or(name, f.Default)
	p, ok := f.Profiles[name]
	switch {
	case !ok && len(f.Profiles) == 0:
		return "", nil, notSignedIn()
	case !ok:
		return "", nil, &commandError{
			message: "there is no profile " + name, code: exitSignIn, hint: "List the profiles: carrel profiles",
		}
	}
	return name, p, nil
}

// expiryMargin is the time before its end at which an access token is no longer used.
const expiryMargin = 30 * time.Second

// profileCredential supplies the token of a profile and refreshes it.
type profileCredential struct {
	store profileStore
	name  string
	http  *http.Client
}

// Token implements client.Credential. The profile is read for each request, because another process may have refreshed
// the token.
func (c *profileCredential) Token(ctx context.Context, rejected string) (string, error) {
	file, err := c.store.read()
	if err != nil {
		return "", err
	}
	_, p, err := file.find(c.name, "")
	if err != nil {
		return "", err
	}
	if p.Kind == profileKey {
		return client.APIKey(p.Key).Token(ctx, rejected)
	}
	if p.usable(rejected) {
		return p.Access, nil
	}
	token := ""
	err = c.store.updateProfile(ctx, c.name, func(p *profile) error {
		if !p.usable(rejected) {
			if err := c.refresh(ctx, p); err != nil {
				return err
			}
		}
		token = p.Access
		return nil
	})
	return token, err
}

// usable reports whether the access token is valid for a while and is not the rejected one.
func (p *profile) usable(rejected string) bool {
	return p.Access != "" && p.Access != rejected && time.Until(p.Expiry) > expiryMargin
}

// refresh replaces the tokens of a profile.
func (c *profileCredential) refresh(ctx context.Context, p *profile) error {
	server, err := client.Discover(ctx, c.http, p.Server)
	if err != nil {
		return err
	}
	tokens, err := server.Refresh(ctx, p.ClientID, p.Refresh)
	if err != nil {
		return err
	}
	p.Access, p.Expiry = tokens.Access, tokens.Expiry
	p.Refresh = cmp.Or(tokens.Refresh, p.Refresh)
	return nil
}
