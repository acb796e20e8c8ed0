extension TrackingEvent {
    /// Rejects what is invalid for every vendor.
    func validate() throws(ExperimentationError) {
        func refuse(_ message: String) -> ExperimentationError { ExperimentationError(.invalidArgument, message) }
        for (name, value) in attributes.values {
            if value.depth(upTo: EnvelopeCoding.maximumDepth) > EnvelopeCoding.maximumDepth {
                throw refuse("The attribute \"\(name)\" is nested deeper than \(EnvelopeCoding.maximumDepth) levels.")
            }
            if !value.isFinite { throw refuse("The attribute \"\(name)\" holds a number that isn't finite.") }
        }
        switch kind {
        case .custom(let name, let value):
            if name.isEmpty { throw refuse("A custom event needs a name.") }
            if let value, !value.isFinite { throw refuse("The value of \"\(name)\" must be finite.") }
        case .screenView(let name), .goalCompleted(let name), .goalAbandoned(let name):
            if name.isEmpty { throw refuse("An event of type \"\(type)\" needs a name.") }
        case .pageView(let url):
            if url.isEmpty { throw refuse("A page view needs a URL.") }
        case .sessionEnded(let seconds):
            if !seconds.isFinite || seconds < 0 { throw refuse("A session can't have lasted \(seconds) seconds.") }
        case .native(let event):
            if !FlagValue.object(event.payload).fitsEvents {
                throw refuse("The event \"\(event.type)\" is nested too deep or holds a number that isn't finite.")
            }
        default: break
        }
    }
}
