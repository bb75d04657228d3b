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

// Stage is how far a client had come when its attempt to connect failed.
type Stage string

// The stages, in the order in which a client goes through them.
const (
	StageRegister  Stage = "register"
	StageAuthorize Stage = "authorize"
	StageToken     Stage = "token"
	StageRefresh   Stage = "refresh"
)

// Attempt is a failed attempt of a client to connect, told to the user in three sentences: what the client asked, what
// was wrong, and how to mend it. Attempts that failed alike are counted as one.
type Attempt struct {
	ID string
	// UserID is whose account it was about; empty where that could not be told.
	UserID string
	// ClientID and ClientName are empty if the client is not known here. The name is unverified.
	ClientID   string
	ClientName string
	Stage      Stage
	// Problem is a word that stays the same; the sentences may change.
	Problem string
	Asked   string
	Wrong   string
	Mend    string
	Count   int64
	FirstAt time.Time
	LastAt  time.Time
	// Address and Program are where the last one came from: the client itself, or the browser that it sent here.
	Address string
	Program string
}

// Holder is whom a code or a refresh token belongs to.
type Holder struct {
	UserID   string
	ClientID string
	GrantID  string
}

// AttemptStore keeps failed attempts.
type AttemptStore interface {
	// RecordAttempt adds an attempt, or counts it with the one before of the same user, client, stage and problem.
	RecordAttempt(ctx context.Context, a Attempt) error
	// Attempts returns a user's attempts, the latest first; with nobodys, those too of which it is not known whose they
	// are.
	Attempts(ctx context.Context, userID string, nobodys bool, limit int) ([]Attempt, error)
	// Holder returns whose the code or refresh token with this hash is, also when it does not work any more.
	Holder(ctx context.Context, hash []byte) (Holder, error)
}

// maxAttempts is how many are listed, and maxProgram how much of a User-Agent is kept, in bytes.
const (
	maxAttempts = 100
	maxProgram  = 200
)

// The problems that are not an error of the protocol under the same name.
const (
	problemUnknownClient = "unknown_client"
	problemRedirect      = "redirect_mismatch"
	problemStale         = "page_expired"
	problemReused        = "token_reused"
	problemDocument      = "client_document"
)

// asked says what a client wants at each stage.
var asked = map[Stage]string{
	StageRegister:  "A program asked to be registered here.",
	StageAuthorize: "The program asked for access to your account.",
	StageToken:     "The program wanted to turn your permission into a token.",
	StageRefresh:   "The program wanted to renew its token while you were away.",
}

const (
	mendAgain   = "Remove the connection in the program and add it again."
	mendProgram = "This is a mistake of the program: update it, or show its makers this line."
)

// explanations say of each problem what a person can do about it, and what was wrong where the words for the program
// would not help. A problem that is not here is a mistake of the program.
var explanations = map[string]struct{ wrong, mend string }{
	problemUnknownClient: {"The program is not registered here, or was removed because it was never used.", mendAgain},
	problemRedirect: {
		"The program wanted the answer sent to an address that it has not registered. Nothing was sent there.", mendAgain,
	},
	problemStale: {"You were signed out, or took longer than ten minutes to answer.", "Connect again from the program."},
	problemReused: {
		"A code or refresh token was used for a second time. Somebody else may have it, so the connection was ended.",
		"Connect again from the program. If this happens again, run only one copy of it, or stop using it.",
	},
	problemDocument:    {"", "Try again later. If it stays so, show the makers of the program this line."},
	"access_denied":    {"You said no.", "Connect again from the program if that was a mistake."},
	"consent_required": {"The program asked not to show you anything, but you must be asked.", mendProgram},
	"login_required":   {"The program asked not to show you anything, but you must sign in first.", mendProgram},
	"invalid_client":   {"The program could not prove that it is the one that registered.", mendAgain},
	"invalid_grant": {
		"The code or refresh token was too old, revoked, or made for another request.", "Connect again from the program.",
	},
	"invalid_scope":  {"The program asked for more than a program can have, or than you have allowed.", "Connect again, and ask for less in the program's settings."},
	"invalid_target": {"The program asked for access to an address that is not of this installation.", "Compare the address in the program's settings with the one on the Connections page."},
}

// Attempts lists the failed attempts to connect to the actor's account, the latest first. Who looks after the
// installation sees those too of which nobody knows whose they are.
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

// explain puts the sentences of an attempt together.
func (a *Attempt) explain() {
	a.Asked, a.Mend = asked[a.Stage], mendProgram
	if e, ok := explanations[a.Problem]; ok {
		a.Mend = e.mend
		if e.wrong != "" {
			a.Wrong = e.wrong
		}
	}
}

// attempt is what is known of a request that fails.
type attempt struct {
	stage  Stage
	userID string
	client Client
}

// failed writes down that an attempt failed. The client is answered whether that works or not.
func (s *Service) failed(r *http.Request, a attempt, problem, wrong string) {
	now := s.clock.Now()
	// A browser or client that hangs up has failed all the same.
	ctx := context.WithoutCancel(r.Context())
	err := s.store.RecordAttempt(ctx, Attempt{
		ID: core.NewID("try"), UserID: a.userID, ClientID: a.client.ID, ClientName: a.client.Name, Stage: a.stage,
		Problem: problem, Wrong: wrong, Count: 1, FirstAt: now, LastAt: now,
		Address: s.address(ctx), Program: programOf(r),
	})
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a failed attempt to connect was not written down", slog.String("error", err.Error()))
	}
}

// programOf is what a program says of itself, fit to be stored and shown.
func programOf(r *http.Request) string {
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

// failedWith is failed for an error of the protocol. What is our own fault is not held against the client.
func (s *Service) failedWith(r *http.Request, a attempt, err error) {
	var e *protocolError
	if errors.As(err, &e) && e.status < http.StatusInternalServerError {
		s.failed(r, a, e.code, e.description)
	}
}

// failedExchange is failed for the token endpoint, where the user is known by what the client shows.
func (s *Service) failedExchange(r *http.Request, c Client, form params, err error) {
	a := attempt{stage: StageToken, client: c}
	shown := form.Get("code")
	if form.Get("grant_type") == "refresh_token" {
		a.stage, shown = StageRefresh, form.Get("refresh_token")
	}
	if credential.IsSecret(s.prefixes.Code, shown) || credential.IsSecret(s.prefixes.Refresh, shown) {
		if h, missing := s.store.Holder(r.Context(), credential.Hash(s.hashKey, shown)); missing == nil {
			a.userID = h.UserID
		}
	}
	if errors.Is(err, ErrReused) {
		s.failed(r, a, problemReused, "")
		return
	}
	if core.IsKind(err, core.KindNotFound) {
		err = errInvalidGrant
	}
	s.failedWith(r, a, err)
}
