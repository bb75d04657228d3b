package config

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OIDC are the settings of an OpenID provider to sign in with.
type OIDC struct {
	// Issuer is the provider's address. Issuer and ClientID are both set or neither.
	Issuer, ClientID string
	// ClientSecret is empty for a public client.
	ClientSecret string
	// Name is the label of the sign-in button.
	Name string
	// SignUp creates accounts for new users of the provider.
	SignUp bool
}

// On reports whether a provider is configured.
func (o OIDC) On() bool { return o.Issuer != "" }

// Label returns the name of the provider, or its host.
func (o OIDC) Label() string {
	if o.Name != "" {
		return o.Name
	}
	if u, err := url.Parse(o.Issuer); err == nil {
		return u.Host
	}
	return o.Issuer
}

func (o OIDC) problems() Problems {
	var probs Problems
	if (o.Issuer == "") != (o.ClientID == "") {
		probs.add("oidc-issuer and oidc-client-id go together; set both or neither")
	}
	return probs
}

// warnings returns settings without effect.
func (o OIDC) warnings() []string {
	if !o.On() && (o.ClientSecret != "" || o.Name != "" || o.SignUp) {
		return []string{"oidc-client-secret, oidc-name and oidc-signup have no effect without oidc-issuer"}
	}
	return nil
}

func checkIssuer(s string) error {
	if s == "" {
		return nil // off
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil,
		u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname()+":0")):
		return errors.New("must be an absolute https URL, such as https://login.example.org; http only for this machine")
	case strings.ContainsAny(s, "?#"):
		return errors.New("must not have a query or a fragment")
	}
	return nil
}

func checkLabel(s string) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if utf8.RuneCountInString(s) > 40 || strings.ContainsFunc(s, unprintable) || strings.TrimSpace(s) != s {
		return errors.New("must be a short name, such as Example University")
	}
	return nil
}
