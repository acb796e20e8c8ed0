import AdapterKit
import Experimentation

extension Evergage {
    /// The device's id; `nil` before it is known, and while the vendor's kill switch is on.
    public var anonymousID: String? { isDisabled ? nil : knownAnonymousID }

    /// The id of a signed-in user; set it at every launch, because it isn't stored.
    ///
    /// `nil` makes the user anonymous again, and also sets the account's id to `nil`. A blank id is ignored. The new id
    /// takes effect with the next call; attributes that wait for an event are dropped when a named user becomes
    /// another. The current view stays, and its time so far counts for the previous user. The previous user's campaigns
    /// are dropped.
    public var userID: String? {
        get { ids[.user] }
        set {
            if let newValue, newValue.isBlank { return drop(.warning, "a blank user id was ignored") }
            if newValue == nil { accountID = nil }
            guard newValue.map(ExactText.init) != userID.map(ExactText.init) else { return }
            catchUp()
            concludeViewTime()
            become(newValue, as: .user)
            identify(newValue)
        }
    }

    /// Captures the view time of the current user, so that none of it counts for the next.
    private func concludeViewTime() {
        for context in contexts { context.note(context.viewing.timer.conclude(at: environment.time.instant)) }
    }

    /// The id of the user's company; unrelated to the account of the configuration.
    ///
    /// Attributes of a named account that wait for an event are dropped when it becomes another, or `nil`.
    public var accountID: String? {
        get { ids[.account] }
        set { become(newValue?.unlessBlank, as: .account) }
    }

    private func become(_ id: String?, as party: EvergageParty) {
        var next = ids
        next[party] = id
        keepOwn(&pending, of: ids, for: next)
        ids = next
    }

    /// Sets an attribute of the user, to be sent with the next event; `nil` removes it.
    ///
    /// While consent is denied, the call is ignored.
    public func setUserAttribute(_ value: String?, forName name: String) {
        set(value, forName: name, of: .user)
    }

    /// Sets an attribute of the account, to be sent with the next event; `nil` removes it.
    ///
    /// While consent is denied, the call is ignored.
    public func setAccountAttribute(_ value: String?, forName name: String) {
        set(value, forName: name, of: .account)
    }

    private func set(_ value: String?, forName name: String, of party: EvergageParty) {
        guard !name.isBlank else { return drop(.warning, "an attribute with a blank name was ignored") }
        if consent.current == .denied { return drop(.info, "an attribute of a user who denies consent was ignored") }
        pending[party, default: [:]][name] = value.map(FlagValue.string) ?? .null
    }

    /// Drops the attributes of a named user or account that would go with another one's event.
    func keepOwn(_ attributes: inout EvergageAttributes, of ids: EvergageIDs, for next: EvergageIDs) {
        for kind in attributes.keepOwn(of: ids, for: next) {
            drop(.warning, "\(kind) attributes that weren't sent belonged to another \(kind) and were dropped")
        }
    }

    /// Continues the session for a user; `nil` for the device's anonymous one.
    func identify(_ userID: String?) {
        guard let session, let knownAnonymousID else { return }
        session.identify(identity(of: userID, anonymousID: knownAnonymousID))
    }

    func identity(of userID: String?, anonymousID: String) -> Identity {
        Identity(id: userID ?? anonymousID, anonymousID: anonymousID, isAuthenticated: userID != nil)
    }
}
