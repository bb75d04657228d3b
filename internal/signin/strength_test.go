package signin

import (
	"strings"
	"testing"
)

func TestAGuessablePasswordIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	const email, name = "ada.lovelace@analytical.example.org", "Ada King Lovelace"
	for password, want := range map[string]string{
		"password":                       passwordCommon,
		"Password":                       passwordCommon,
		"password1":                      passwordCommon,
		"Password2026!":                  passwordCommon,
		"2026password":                   passwordCommon,
		"P@ssw0rd!":                      passwordCommon,
		"p@$$w0rd":                       passwordCommon,
		"passwordpassword":               passwordCommon,
		"password password":              passwordCommon,
		"12345678":                       passwordCommon,
		"123456789012345":                passwordCommon,
		"87654321":                       passwordCommon,
		"aaaaaaaaaaaa":                   passwordCommon,
		"abcdefghij":                     passwordCommon,
		"qwertyuiop":                     passwordCommon,
		"qwertz123456":                   passwordCommon,
		"iloveyou2":                      passwordCommon,
		"trustno1":                       passwordCommon,
		"letmein!!":                      passwordCommon,
		"sunshine99":                     passwordCommon,
		"carrel2026":                     passwordPersonal,
		"Carrel!!":                       passwordPersonal,
		"c4rrel123":                      passwordPersonal,
		"carrelpassword":                 passwordPersonal,
		"adalovelace":                    passwordPersonal,
		"Lovelace1815":                   passwordPersonal,
		"ada.lovelace@analytical":        passwordPersonal,
		"ADA-KING-1815":                  passwordPersonal,
		"l0vel4ce-king":                  passwordPersonal,
		"analytical7":                    passwordPersonal,
		"correct horse battery":          "",
		"another password":               "",
		"Tr0ub4dor&3":                    "",
		"lovelace wrote wonderful notes": "",
		"9fK!2mQ_x7":                     "",
		"dragon 83905172":                "",
		"пароль из слов":                 "",
	} {
		got, err := passwordProblem(password, email, name)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", password, got, want)
		}
		if got != "" && strings.Contains(got, password) && password != "password" {
			t.Errorf("%q is repeated in %q", password, got)
		}
	}
}

// FuzzPasswordProblem holds the rule to ending without a failure, whatever is typed.
func FuzzPasswordProblem(f *testing.F) {
	f.Add("password1", "ada@example.org", "Ada")
	f.Add("\xff\x00", "@", "")
	f.Fuzz(func(t *testing.T, password, email, name string) {
		if _, err := passwordProblem(password, email, name); err != nil {
			t.Error(err)
		}
	})
}
