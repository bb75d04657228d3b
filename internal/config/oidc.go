package config

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OIDC are the settings of another OpenID provider to sign in with.
type OIDC struct {
	// Issuer is the provider's address. Issuer and ClientID are both set or neither.
	Issuer, ClientID string
	// ClientSecret is empty for a public client.
	ClientSecret string
	// Name is what the button to sign in with it says.
	Name string
	// SignUp is whether people without an account get one.
	SignUp bool
}

// On reports whether there is a provider.
func (o OIDC) On() bool { return o.Issuer != "" }

// Label is what people know the provider by: its name, or else its host.
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

// warnings names what has no effect.
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
	case err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname()+":0")):
		return errors.New("must be a whole https address, such as https://login.example.org; http only on this machine")
	case strings.ContainsAny(s, "?#"):
		return errors.New("must not have a query or a fragment")
	}
	return nil
}

func checkLabel(s string) error {
	if utf8.RuneCountInString(s) > 40 || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.TrimSpace(s) != s {
		return errors.New("must be a short name, such as Example University")
	}
	return nil
}
