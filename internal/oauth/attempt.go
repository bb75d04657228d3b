package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// Stage is the step of the connection that failed.
type Stage string

// The stages, in the order of the protocol.
const (
	StageRegister  Stage = "register"
	StageAuthorize Stage = "authorize"
	StageToken     Stage = "token"
	StageRefresh   Stage = "refresh"
)

// Attempt is a failed attempt of a client to connect. It explains the failure to the user in three sentences: Asked is
// the client's request, Wrong the problem and Mend the fix. Identical failures are counted in one Attempt.
type Attempt struct {
	ID string
	// UserID is the affected account; empty if the request did not identify one.
	UserID string
	// ClientID and ClientName are empty for an unknown client. The name is unverified.
	ClientID   string
	ClientName string
	Stage      Stage
	// Problem is a stable code; the sentences may change.
	Problem string
	Asked   string
	Wrong   string
	Mend    string
	Count   int64
	FirstAt time.Time
	LastAt  time.Time
	// Address and Program (the User-Agent) describe the last request, which came from the client or from the browser
	// that it opened.
	Address string
	Program string
}

// TokenOwner is the user, client and grant of a code or refresh token.
type TokenOwner struct {
	UserID   string
	ClientID string
	GrantID  string
}

// AttemptStore stores failed attempts.
type AttemptStore interface {
	// RecordAttempt adds an attempt, or increments the count of the one with the same user, client, stage and problem.
	RecordAttempt(ctx context.Context, a Attempt) error
	// Attempts returns a user's attempts, latest first. With unattributed it includes attempts without a user.
	Attempts(ctx context.Context, userID string, unattributed bool, limit int) ([]Attempt, error)
	// TokenOwner returns the owner of the code or refresh token with this hash, expired and used ones included.
	TokenOwner(ctx context.Context, hash []byte) (TokenOwner, error)
}

const (
	// maxAttempts bounds the list of attempts.
	maxAttempts = 100
	// maxProgram is how many bytes of a User-Agent are stored.
	maxProgram = 200
)

// Problems for which the protocol has no error code.
const (
	problemUnknownClient = "unknown_client"
	problemRedirect      = "redirect_mismatch"
	problemStale         = "page_expired"
	problemReused        = "token_reused"
	problemDocument      = "client_document"
)

// stageTexts describe the client's request at each stage.
var stageTexts = map[Stage]string{
	StageRegister:  "An app tried to register here.",
	StageAuthorize: "The app asked for access to your account.",
	StageToken:     "The app tried to exchange your permission for a token.",
	StageRefresh:   "The app tried to renew its token.",
}

const (
	fixReconnect = "Remove the connection in the app and add it again."
	fixApp       = "This is a bug in the app. Update it, or report this message to its developers."
)

// explanations hold the problem and the fix in the user's words, by problem. An empty wrong keeps the protocol's own
// description; a problem without an entry is a bug in the client.
var explanations = map[string]struct{ wrong, fix string }{
	problemUnknownClient: {
		"The app is not registered here. Unused registrations are deleted after a week.",
		fixReconnect,
	},
	problemRedirect: {
		"The app requested a redirect to an address that it has not registered. Nothing was sent there.",
		fixReconnect,
	},
	problemStale: {
		"You were signed out, or the page was open for more than ten minutes.",
		"Connect again from the app.",
	},
	problemReused: {
		"A code or refresh token was used twice. It may be stolen, so the connection was revoked.",
		"Connect again from the app. If this happens again, run only one copy of the app, or stop using it.",
	},
	problemDocument:    {"", "Try again later. If it keeps failing, report this message to the app's developers."},
	"access_denied":    {"You denied access.", "Connect again from the app if that was a mistake."},
	"consent_required": {"The app asked to skip the consent page, which is always shown.", fixApp},
	"login_required":   {"The app asked to skip the sign-in page, but you were not signed in.", fixApp},
	"invalid_client":   {"The app's client secret is wrong.", fixReconnect},
	"invalid_grant": {
		"The code or refresh token was expired, revoked, or issued for another request.",
		"Connect again from the app.",
	},
	"invalid_scope": {
		"The app asked for scopes that no app can have, or that you have not allowed.",
		"Connect again, and ask for less in the app's settings.",
	},
	"invalid_target": {
		"The app asked for access to an address that does not belong to this installation.",
		"Compare the address in the app's settings with the one on the Connections page.",
	},
}

// Attempts lists the failed attempts to connect to the actor's account, latest first. Administrators also see attempts
// that can't be attributed to an account.
func (s *Service) Attempts(ctx context.Context, actor core.Actor) ([]Attempt, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, err
	}
	list, err := s.store.Attempts(ctx, actor.UserID, actor.Role != core.RoleMember, maxAttempts)
	for i := range list {
		list[i].explain()
	}
	return list, err
}

// explain fills in the sentences, which are not stored.
func (a *Attempt) explain() {
	a.Asked, a.Mend = stageTexts[a.Stage], fixApp
	if e, ok := explanations[a.Problem]; ok {
		a.Mend = e.fix
		if e.wrong != "" {
			a.Wrong = e.wrong
		}
	}
}

// attempt is the part of an Attempt that is known before it fails.
type attempt struct {
	stage  Stage
	userID string
	client Client
}

// recordFailure stores a failed attempt. A storage error is only logged: the client gets its answer in any case.
func (s *Service) recordFailure(r *http.Request, a attempt, problem, wrong string) {
	now := s.clock.Now()
	ctx := context.WithoutCancel(r.Context()) // a client that hangs up has failed too
	err := s.store.RecordAttempt(ctx, Attempt{
		ID: core.NewID("try"), UserID: a.userID, ClientID: a.client.ID, ClientName: a.client.Name, Stage: a.stage,
		Problem: problem, Wrong: wrong, Count: 1, FirstAt: now, LastAt: now,
		Address: s.address(ctx), Program: userAgent(r),
	})
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "failed connection attempt not recorded", slog.String("error", err.Error()))
	}
}

// userAgent returns the request's User-Agent, shortened and without unprintable characters.
func userAgent(r *http.Request) string {
	agent := r.UserAgent()
	if len(agent) > maxProgram {
		agent = agent[:maxProgram]
	}
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, agent)
}

// recordProtocolError records a protocol error as a failed attempt. Server errors are not the client's failure and are
// left out.
func (s *Service) recordProtocolError(r *http.Request, a attempt, err error) {
	var e *protocolError
	if errors.As(err, &e) && e.status < http.StatusInternalServerError {
		s.recordFailure(r, a, e.code, e.description)
	}
}

// recordTokenFailure records a failed token request. The user is found through the code or refresh token in the form.
func (s *Service) recordTokenFailure(r *http.Request, c Client, form params, err error) {
	a := attempt{stage: StageToken, client: c}
	secret := form.Get("code")
	if form.Get("grant_type") == "refresh_token" {
		a.stage, secret = StageRefresh, form.Get("refresh_token")
	}
	if credential.IsSecret(s.prefixes.Code, secret) || credential.IsSecret(s.prefixes.Refresh, secret) {
		if owner, unknown := s.store.TokenOwner(r.Context(), credential.Hash(s.hashKey, secret)); unknown == nil {
			a.userID = owner.UserID
		}
	}
	if errors.Is(err, ErrReused) {
		s.recordFailure(r, a, problemReused, "")
		return
	}
	if core.IsKind(err, core.KindNotFound) {
		err = errInvalidGrant
	}
	s.recordProtocolError(r, a, err)
}
