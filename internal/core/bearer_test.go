package core_test

import (
	"errors"
	"testing"

	"carrel/internal/core"
)

func TestBearerTokenIsReadFromOneHeader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []string
		token  string
		err    error
	}{
		"a token":              {[]string{"Bearer crl_1"}, "crl_1", nil},
		"lower case":           {[]string{"bearer crl_1"}, "crl_1", nil},
		"upper case":           {[]string{"BEARER crl_1"}, "crl_1", nil},
		"several spaces":       {[]string{"Bearer   crl_1  "}, "crl_1", nil},
		"no header":            {nil, "", core.ErrNoAuthorization},
		"an empty header":      {[]string{""}, "", core.ErrOtherScheme},
		"another scheme":       {[]string{"Basic dTpw"}, "", core.ErrOtherScheme},
		"another long scheme":  {[]string{"Digest a b c"}, "", core.ErrOtherScheme},
		"the token alone":      {[]string{"crl_1"}, "", core.ErrOtherScheme},
		"a tab as separator":   {[]string{"Bearer\tcrl_1"}, "", core.ErrOtherScheme},
		"no token":             {[]string{"Bearer"}, "", core.ErrMalformedBearer},
		"a blank token":        {[]string{"Bearer  "}, "", core.ErrMalformedBearer},
		"two tokens":           {[]string{"Bearer crl_1 crl_2"}, "", core.ErrMalformedBearer},
		"two headers":          {[]string{"Bearer crl_1", "Bearer crl_1"}, "", core.ErrMalformedBearer},
		"two headers, no text": {[]string{"", ""}, "", core.ErrMalformedBearer},
	} {
		token, err := core.BearerToken(c.values)
		if token != c.token || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v; want %q, %v", name, token, err, c.token, c.err)
		}
	}
}
