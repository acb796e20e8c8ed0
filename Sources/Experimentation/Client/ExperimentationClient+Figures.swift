extension ExperimentationClient {
    /// How decisions of a vendor that is asked for each user were answered; all zero for other vendors.
    public var answerFigures: AnswerFigures {
        var figures = core.reused.figures
        (figures.users, figures.bytes) = (core.cache.count, core.cache.bytes)
        return figures
    }

    /// The age of the rules that decide now; `nil` if there are none, or if the vendor is asked for each user.
    public var rulesAge: Duration? { core.rules?.published.read { [time = core.environment.time] in $0.age(at: time) } }

    /// What the ledgers belong to, by its identity: the store, which several clients may share, or this client if the store
    /// is a value.
    package var ledgersOwner: any AnyObject & Sendable {
        if let store = core.outbox.store as? any OutboxStore & AnyObject { return store }
        return self
    }
}
