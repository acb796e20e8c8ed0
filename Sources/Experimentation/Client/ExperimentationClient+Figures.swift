extension ExperimentationClient {
    /// How decisions of a vendor that is asked for each user were answered; all zero for other vendors.
    public var answerFigures: AnswerFigures {
        var figures = core.reused.figures
        (figures.users, figures.bytes) = (core.cache.count, core.cache.bytes)
        return figures
    }

    /// The age of the rules that decide now; `nil` if there are none, or if the vendor is asked for each user.
    public var rulesAge: Duration? { core.rules?.published.read { [time = core.environment.time] in $0.age(at: time) } }

    /// The owner of the ledgers, which several clients may share.
    package var ledgersOwner: LedgersOwner {
        let store = core.outbox.store
        var object: any AnyObject & Sendable = self
        if let inside = store.undecorated as? any OutboxStore & AnyObject { object = inside }
        if let id = store.contentsID { return LedgersOwner(key: .contents(id), object: object) }
        return LedgersOwner(key: .object(ObjectIdentifier(object)), object: object)
    }
}

/// The owner of ledgers: a destination has one ledger in each store.
package struct LedgersOwner: Sendable {
    /// What distinguishes owners.
    package enum Key: Sendable, Hashable {
        /// The store's contents, which outlive the store.
        case contents(String)
        /// The store, or the client if the store is a value; another object may get its address later.
        case object(ObjectIdentifier)
    }

    package let key: Key
    /// The store or the client.
    package let object: any AnyObject & Sendable
}

extension OutboxStore {
    /// The store inside all decorators.
    fileprivate var undecorated: any OutboxStore { (self as? any OutboxStoreDecorator)?.base.undecorated ?? self }
}
