package upstream

import (
	"context"
	"errors"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// skew is how far the provider's clock may be behind ours.
const skew = time.Minute

// proved checks that the person at the provider is the user of the session, and was asked just now.
func (s *Service) proved(ctx context.Context, a Arrival, c claims, j journey) (Arrival, error) {
	user, err := s.store.UserByIdentity(ctx, s.identity(c))
	switch {
	case core.IsKind(err, core.KindNotFound), err == nil && user.ID != a.UserID:
		return a, ErrRefused.Because(errors.New("somebody else signed in at the provider"))
	case err != nil:
		return a, err
	case time.Unix(c.AuthTime, 0).Before(j.BegunAt.Add(-skew)):
		return a, ErrRefused.Because(errors.New("the provider did not ask again"))
	}
	a.User = user
	return a, nil
}

func (s *Service) identity(c claims) Identity {
	return Identity{Issuer: s.opts.Issuer, Subject: c.Subject}
}

// accountOf returns the account of somebody whom the provider knows: the one that is tied to them, else the one with
// their address, which is tied to them from then on, else a new one where that is allowed. The subject decides, not the
// address: addresses are given to others when people leave. It returns the identity where it is not tied yet.
func (s *Service) accountOf(ctx context.Context, c claims) (account.User, Identity, error) {
	user, err := s.store.UserByIdentity(ctx, s.identity(c))
	var unlinked Identity
	if core.IsKind(err, core.KindNotFound) {
		user, unlinked, err = s.first(ctx, c)
	}
	switch {
	case err != nil:
		return account.User{}, Identity{}, err
	case user.DisabledAt != nil:
		return account.User{}, Identity{}, errDisabled
	}
	return user, unlinked, nil
}

// first finds or makes the account of somebody who comes for the first time. An account whose address was set by an
// administrator or the provider is tied to them at once. An address that its user chose may be that of another person, who
// would otherwise sign in to the account of whoever chose it: such an account is not tied here.
func (s *Service) first(ctx context.Context, c claims) (account.User, Identity, error) {
	if !c.Verified || c.Email == "" {
		return account.User{}, Identity{}, errAddress
	}
	user, err := s.store.UserByEmail(ctx, account.NormalEmail(c.Email))
	switch {
	case core.IsKind(err, core.KindNotFound) && s.opts.SignUp:
		user, err = s.signUp(ctx, c)
		return user, Identity{}, err
	case core.IsKind(err, core.KindNotFound):
		return account.User{}, Identity{}, errNoAccount
	case err != nil:
		return account.User{}, Identity{}, err
	case user.DisabledAt != nil:
		return account.User{}, Identity{}, errDisabled
	case !user.EmailVerified:
		return user, s.identity(c), nil
	}
	return user, Identity{}, s.Link(ctx, s.identity(c), user.ID)
}

// Link ties somebody at the provider to an account: they sign in to it from now on.
func (s *Service) Link(ctx context.Context, id Identity, userID string) error {
	err := s.store.LinkIdentity(ctx, id, userID, s.clock.Now())
	if core.IsKind(err, core.KindConflict) {
		return errOther.Because(err)
	}
	if err != nil {
		return err
	}
	s.recorder.Note(ctx, audit.Record{Event: audit.UpstreamLinked, UserID: userID, Detail: map[string]string{"issuer": id.Issuer}})
	return nil
}

// signUp makes an account without a password.
func (s *Service) signUp(ctx context.Context, c claims) (account.User, error) {
	name := strings.TrimSpace(c.Name)
	if name == "" {
		name, _, _ = strings.Cut(c.Email, "@")
	}
	user, err := account.WithoutPassword(c.Email, name, s.opts.Plan, s.clock.Now())
	if err != nil {
		return account.User{}, errAddress.Because(err)
	}
	if err := s.store.InsertUserWithIdentity(ctx, user, s.identity(c)); err != nil {
		return account.User{}, err
	}
	s.recorder.Note(ctx, audit.Record{Event: audit.UserCreated, UserID: user.ID, Detail: map[string]string{"issuer": s.opts.Issuer}})
	return user, nil
}
