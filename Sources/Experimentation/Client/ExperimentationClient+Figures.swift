extension ExperimentationClient {
    /// How decisions of a vendor that is asked for each user were answered; all zero for other vendors.
    public var answerFigures: AnswerFigures {
        var figures = core.reused.figures
        (figures.users, figures.bytes) = (core.cache.count, core.cache.bytes)
        return figures
    }

    /// The age of the rules that decide now; `nil` if there are none, or if the vendor is asked for each user.
    public var rulesAge: Duration? { core.rules?.published.read { [time = core.environment.time] in $0.age(at: time) } }
}
