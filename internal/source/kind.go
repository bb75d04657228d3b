package source

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/outbound"
)

// The kinds of sources whose documents are stored in the database.
const (
	KindUpload = "upload"
	KindFolder = "folder"
	KindWeb    = "web"
	KindFeed   = "feed"
	KindS3     = "s3"
	KindZotero = "zotero"
)

// Settings are the settings of a source. Which fields apply depends on its kind.
type Settings struct {
	// Path is the folder on the server of a folder source.
	Path string `json:"path,omitempty"`
	// URLs are the pages of a web source.
	URLs []string `json:"urls,omitempty"`
	// URL is the address of a feed, of a federated server or of a Zotero API.
	URL string `json:"url,omitempty"`
	// Bucket is the name of an S3 bucket; Prefix selects the objects whose keys begin with it.
	Bucket string `json:"bucket,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	// Region is the region of the bucket, Endpoint the address of a store other than Amazon's.
	Region   string `json:"region,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// AccessKeyID is the id of the access key whose secret is the source's secret.
	AccessKeyID string `json:"accessKeyId,omitempty"`
	// Library is a Zotero library: "users/" or "groups/" and its number. Empty means the library of the key's user.
	Library string `json:"library,omitempty"`
	// Collection is the key or the name of a Zotero collection; empty means the whole library.
	Collection string `json:"collection,omitempty"`
	// Language is an ISO 639 code: the edition of Wikipedia (default en), or the language of web results (default
	// any).
	Language string `json:"language,omitempty"`
	// Tool is the search tool of an MCP server; empty means that one is chosen by name.
	Tool string `json:"tool,omitempty"`
	// SyncMinutes is the interval of automatic syncs; 0 disables them.
	SyncMinutes int `json:"syncMinutes,omitempty"`
}

// Kind describes a kind of source.
type Kind struct {
	Name string
	// Syncs is set if the content can be read again.
	Syncs bool
	// Admin restricts creation and changes to administrators, because the source reads the server's own files.
	Admin bool
	// Federated means that the source is searched at query time, Paid that each search costs its owner money.
	Federated, Paid bool
	// Check trims the settings and validates them together with the secret.
	Check func(set *Settings, secret string) []core.FieldError
	// SecretScope names the receiver of the secret: the origin of an address, the bucket and access key of a store,
	// or "" for a kind with a fixed host. A secret is encrypted with its scope as associated data and dropped when
	// the scope changes. Nil means that the kind takes no secret.
	SecretScope func(set Settings) string
}

// StoredKinds returns the kinds whose documents are stored in the database.
func StoredKinds() []Kind {
	return []Kind{
		{Name: KindUpload, Check: func(*Settings, string) []core.FieldError { return nil }},
		{Name: KindFolder, Syncs: true, Admin: true, Check: checkFolder},
		{Name: KindWeb, Syncs: true, Check: checkWeb},
		{Name: KindFeed, Syncs: true, Check: checkFeed},
		{Name: KindS3, Syncs: true, Check: checkBucket, SecretScope: s3SecretScope},
		{Name: KindZotero, Syncs: true, Check: checkZotero, SecretScope: zoteroSecretScope},
	}
}

const (
	maxAddress     = 4096
	maxAddresses   = 500
	minSyncMinutes = 5
	maxSyncMinutes = 60 * 24 * 31
)

func checkFolder(s *Settings, _ string) []core.FieldError {
	s.Path = strings.TrimSpace(s.Path)
	if s.Path == "" || !strings.HasPrefix(s.Path, "/") && !strings.Contains(s.Path, `:\`) || core.HasNUL(s.Path) {
		return []core.FieldError{
			{Pointer: "/settings/path", Detail: "Must be the absolute path of a folder on the server."},
		}
	}
	return nil
}

func checkWeb(s *Settings, _ string) []core.FieldError {
	if len(s.URLs) == 0 || len(s.URLs) > maxAddresses {
		return []core.FieldError{{Pointer: "/settings/urls", Detail: "Must be a list of 1 to 500 page addresses."}}
	}
	for i := range s.URLs {
		s.URLs[i] = strings.TrimSpace(s.URLs[i])
		if detail := outbound.CheckAddress(s.URLs[i], pageAddress); detail != "" {
			return []core.FieldError{{Pointer: "/settings/urls/" + strconv.Itoa(i), Detail: detail}}
		}
	}
	slices.Sort(s.URLs)
	s.URLs = slices.Compact(s.URLs)
	return nil
}

func checkFeed(s *Settings, _ string) []core.FieldError {
	s.URL = strings.TrimSpace(s.URL)
	if detail := outbound.CheckAddress(s.URL, pageAddress); detail != "" {
		return []core.FieldError{{Pointer: "/settings/url", Detail: detail}}
	}
	return nil
}

// pageAddress allows plain HTTP, because no secret is sent to pages and feeds. Whether a private host may be reached
// is decided by the client at each connection.
var pageAddress = outbound.AddressRules{PlainHTTP: true, Private: true, Fragment: true, MaxLength: maxAddress}

func (s *Service) kind(name string) (Kind, bool) {
	i := slices.IndexFunc(s.kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return s.kinds[i], true
}

// Syncs reports whether a source can be synced.
func (s *Service) Syncs(src Source) bool {
	k, _ := s.kind(src.Kind)
	return k.Syncs
}

// SettingsOf decodes the settings of a source.
func (src Source) SettingsOf() (Settings, error) {
	var out Settings
	if src.Settings == "" {
		return out, nil
	}
	err := json.Unmarshal([]byte(src.Settings), &out)
	return out, err
}

// checkSettings validates the settings and the secret and returns the settings as JSON.
func (s *Service) checkSettings(k Kind, set Settings, secret string) (string, []core.FieldError) {
	bad := k.Check(&set, secret)
	if n := set.SyncMinutes; n != 0 && (!k.Syncs || n < minSyncMinutes || n > maxSyncMinutes) {
		bad = append(bad, core.FieldError{
			Pointer: "/settings/syncMinutes",
			Detail:  "Must be 5 to 44640 for a source that can be synced, and 0 for others.",
		})
	}
	aboutSecret := func(f core.FieldError) bool { return f.Pointer == "/secret" }
	if secret != "" && k.SecretScope == nil && !slices.ContainsFunc(bad, aboutSecret) {
		bad = append(bad, core.FieldError{Pointer: "/secret", Detail: "This kind of source takes no secret."})
	}
	kept, _ := json.Marshal(set) // has only strings and numbers
	if string(kept) == "{}" {
		return "", bad
	}
	return string(kept), bad
}

// nextSync returns the time of the next automatic sync, or nil.
func nextSync(set Settings, now time.Time) *time.Time {
	if set.SyncMinutes == 0 {
		return nil
	}
	at := now.Add(time.Duration(set.SyncMinutes) * time.Minute)
	return &at
}
