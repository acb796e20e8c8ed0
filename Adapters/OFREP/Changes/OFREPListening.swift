import Experimentation

/// The state machine of the event streams; pure: time and randomness are parameters.
///
/// A stream that breaks is reopened after a second, doubling up to a minute. Decisions are asked for again when a
/// stream has opened, because changes before that went unheard, and on return to the foreground. Events in quick
/// succession count as one change. An open stream that is no longer announced stays until another is open in its place.
/// After 30 seconds without all streams open, the silence is reported.
struct OFREPListening: Sendable {
    /// What has happened.
    enum Input: Sendable {
        /// The server announced exactly these streams.
        case announced([OFREPStream])
        /// A stream is open.
        case opened(OFREPStream)
        /// A stream announced that decisions changed.
        case event(OFREPStream, OFREPEvent)
        /// A stream ended.
        case ended(OFREPStream, Ending)
        /// The application went to the background (`false`) or became active again.
        case sight(Bool)
        /// The question for a reported change failed.
        case unanswered(OFREPCause)
        /// A question failed of a user to whom these streams were announced.
        case failed([OFREPStream])
        /// Time has passed.
        case time
    }

    /// How a stream ended.
    enum Ending: Sendable {
        /// It may be reopened, after the server's delay if it gave one.
        case lost(ExperimentationError, after: Duration? = nil)
        /// It must not be reopened.
        case refused(ExperimentationError)
    }

    /// What to do.
    enum Effect: Sendable, Equatable {
        case open(OFREPStream)
        case close(OFREPStream)
        /// Ask for decisions again.
        case tellChange(OFREPCause)
        case tellSilence(ExperimentationError)
    }

    /// Events within this time count as one.
    static let debounce = Duration.milliseconds(50)
    /// The minimum time between two reported changes.
    static let spacing = Duration.seconds(1)
    /// How soon after a first opening earlier changes are asked for; up to as long again, so that clients spread out.
    static let afterOpening = Duration.seconds(1)
    /// How long a stream may be missing before the silence is reported.
    static let grace = Duration.seconds(30)
    /// How long opening a stream may take.
    static let patience = Duration.seconds(30)
    /// How long a stream must stay open before its failures are reset.
    static let steady = Duration.seconds(5)
    /// The maximum wait before a stream is reopened.
    static let longestWait = Duration.seconds(60)
    /// How long after an answer no other question for new addresses is asked, unless all streams have opened meanwhile.
    static let addressSpacing = Duration.seconds(60)
    /// The maximum number of open streams beside those that they replace.
    static let mostStreams = 8

    private var connections: [OFREPStream: OFREPConnection] = [:]
    /// The next change to report: when, and why.
    private var due: (at: ContinuousClock.Instant, cause: OFREPCause)?
    private var lastTold: ContinuousClock.Instant?
    /// Since when the application has been in the background.
    private var unseen: ContinuousClock.Instant?
    /// Since when a stream is missing, why, and whether that was reported.
    private var deaf: (since: ContinuousClock.Instant, reason: ExperimentationError, isTold: Bool)?
    /// The last question for new addresses, unless all streams have opened since.
    private var addressQuestion: AddressQuestion?

    /// The question for the addresses of refused streams.
    private struct AddressQuestion: Sendable {
        /// When it was answered; `nil` while it is planned or under way.
        var answered: ContinuousClock.Instant?
        var failures = 0
    }

    /// The time of the next timer, if any.
    var wake: ContinuousClock.Instant? {
        var moments = connections.values.compactMap { connection -> ContinuousClock.Instant? in
            switch connection.phase {
            case .opening(let since): since.advanced(by: Self.patience)
            case .waiting(let until): until
            case .open, .resting, .refused: nil
            }
        }
        if let unseen {
            moments += connections.filter { !$1.isResting }.keys.map { unseen.advanced(by: $0.inactivityDelay) }
        }
        if let due { moments.append(due.at) }
        if let deaf, !deaf.isTold { moments.append(deaf.since.advanced(by: Self.grace)) }
        return moments.min()
    }

    /// Handles an input.
    ///
    /// - Parameters:
    ///   - input: The input.
    ///   - now: The current instant.
    ///   - jitter: A random number in 0..<1, fresh for each call.
    /// - Returns: The effects, in order.
    mutating func take(_ input: Input, at now: ContinuousClock.Instant, jitter: Double) -> [Effect] {
        var effects: [Effect] = []
        switch input {
        case .announced(let streams): effects += announce(Array(streams.prefix(Self.mostStreams)), at: now)
        case .opened(let stream): effects += noteOpen(stream, at: now, jitter: jitter)
        case .event(let stream, let event):
            if connections[stream] != nil { plan(.event(event), in: Self.debounce, at: now) }
        case .ended(let stream, let ending): noteEnd(of: stream, ending, at: now, jitter: jitter)
        case .sight(let isSeen): effects += note(isSeen, at: now)
        case .unanswered(let cause): plan(cause, at: now)
        case .failed(let streams): askAgainForAddresses(of: streams, at: now, jitter: jitter)
        case .time: break
        }
        effects += rest(at: now)
        return effects + whatIsDue(at: now, jitter: jitter)
    }

    private mutating func announce(_ streams: [OFREPStream], at now: ContinuousClock.Instant) -> [Effect] {
        let former = connections.keys.filter { !streams.contains($0) }.sorted { $0.path < $1.path }
        // A server that names new addresses in each answer would otherwise be asked again after each of them.
        let isReplacement = former.contains { connections[$0]?.isOpen ?? false }
        let new = streams.filter { connections[$0] == nil }
        for stream in new {
            open(stream, at: now)
            if isReplacement { connections[stream]?.missed = .nothing }
        }
        for stream in streams { connections[stream]?.successor = nil }
        var successors = new[...]
        var gone: [OFREPStream] = []
        for stream in former {
            if let successor = connections[stream]?.successor, streams.contains(successor) { continue }
            // What changes before another stream is open in its place would be told to nobody.
            if connections[stream]?.isOpen ?? false, let successor = successors.popFirst() {
                connections[stream]?.successor = successor
            } else {
                connections[stream] = nil
                gone.append(stream)
            }
        }
        // An answer that comes before the question is told was to an earlier one.
        if due?.cause != .renewal, addressQuestion?.answered == nil { addressQuestion?.answered = now }
        if !connections.isEmpty { noteHearing() } else { deaf = nil }
        return gone.map { .close($0) } + new.map { .open($0) }
    }

    /// Reopens the streams closed for the background, and asks for changes missed meanwhile, unless all streams are open.
    private mutating func note(_ isSeen: Bool, at now: ContinuousClock.Instant) -> [Effect] {
        guard isSeen else {
            unseen = unseen ?? now
            return []
        }
        guard unseen != nil else { return [] }
        // No timer fires while the process is suspended.
        let closed = rest(at: now)
        unseen = nil
        let resting = connections.filter { if case .resting = $1.phase { true } else { false } }.keys
        if !resting.isEmpty {
            plan(.renewal, at: now)
        } else if connections.isEmpty || !connections.values.allSatisfy(\.isOpen) {
            // A confirmation wouldn't name the new address of a refused stream.
            plan(connections.values.contains(where: \.isRefused) ? .renewal : .gap, at: now)
        }
        for stream in resting { open(stream, at: now) }
        return closed + resting.sorted { $0.path < $1.path }.map { .open($0) }
    }

    /// Closes streams whose inactivity delay has passed in the background.
    private mutating func rest(at now: ContinuousClock.Instant) -> [Effect] {
        guard let unseen else { return [] }
        let over = connections.filter { !$1.isResting && unseen.advanced(by: $0.inactivityDelay) <= now }.keys
        guard !over.isEmpty else { return [] }
        for stream in over {
            let isFormer = connections[stream]?.successor != nil
            connections[stream] = isFormer ? nil : OFREPConnection(phase: .resting)
        }
        noteHearing()
        return over.sorted { $0.path < $1.path }.map { .close($0) }
    }

    private mutating func open(_ stream: OFREPStream, at now: ContinuousClock.Instant) {
        connections[stream, default: OFREPConnection(phase: .refused)].phase = .opening(since: now)
        miss(at: now, ExperimentationError(.timeout, "an event stream doesn't open"))
    }

    private mutating func noteOpen(
        _ stream: OFREPStream,
        at now: ContinuousClock.Instant,
        jitter: Double
    ) -> [Effect] {
        guard let connection = connections[stream], case .opening = connection.phase else { return [] }
        connections[stream]?.phase = .open(since: now)
        if connections.values.allSatisfy(\.isOpen) { addressQuestion = nil }
        switch connection.missed {
        case .nothing: break
        case .sinceAnswer: plan(.gap, in: Self.afterOpening * (1 + min(max(jitter, 0), 1)), at: now)
        case .sinceBreak: plan(.gap, at: now)
        }
        noteHearing()
        let replaced = connections.filter { $1.successor == stream }.keys
        for stream in replaced { connections[stream] = nil }
        return replaced.map { .close($0) }
    }

    private mutating func noteEnd(
        of stream: OFREPStream,
        _ ending: Ending,
        at now: ContinuousClock.Instant,
        jitter: Double
    ) {
        guard var connection = connections[stream] else { return }
        if connection.successor != nil {
            // Nothing is asked for: a server may close it because its successor, whose opening it tells later, is open.
            connections[stream] = nil
            return
        }
        switch ending {
        case .refused(let error):
            connection.phase = .refused
            // Its address may have expired, and the next answer names one that hasn't.
            let isHopeful = error.code == .unauthorized && askForAddresses(at: now)
            // Otherwise it won't reopen, so the silence is reported without the grace period.
            miss(at: isHopeful ? now : now.advanced(by: .zero - Self.grace), error)
        case .lost(let error, let asked):
            if case .open(let since) = connection.phase, since.duration(to: now) >= Self.steady {
                connection.failures = 0
            }
            connection.failures += 1
            connection.missed = .sinceBreak
            let wait = max(asked ?? .zero, Self.wait(after: connection.failures, jitter: jitter))
            connection.phase = .waiting(until: now.advanced(by: wait))
            miss(at: now, error)
        }
        connections[stream] = connection
    }

    /// Plans the question for new addresses, unless the last one is still to be answered.
    ///
    /// - Returns: Whether an answer will come; not if there was one shortly before.
    private mutating func askForAddresses(at now: ContinuousClock.Instant) -> Bool {
        if let addressQuestion {
            guard let answered = addressQuestion.answered else { return true }
            guard answered.duration(to: now) >= Self.addressSpacing else { return false }
        }
        addressQuestion = AddressQuestion()
        plan(.renewal, at: now)
        return true
    }

    /// Plans the question for new addresses again after one has failed, later each time.
    private mutating func askAgainForAddresses(
        of streams: [OFREPStream],
        at now: ContinuousClock.Instant,
        jitter: Double
    ) {
        // Back in the foreground it is asked anyway, and what is planned already is one question for all users.
        guard unseen == nil, due?.cause != .renewal, var question = addressQuestion else { return }
        // It may have been answered for other users alone.
        let isMissing = streams.contains { connections[$0]?.isRefused ?? false }
        guard question.answered == nil || isMissing else { return }
        question.answered = nil
        question.failures += 1
        addressQuestion = question
        plan(.renewal, in: Self.wait(after: question.failures, jitter: jitter), at: now)
    }

    /// Returns how long to wait after a number of failures in succession.
    private static func wait(after failures: Int, jitter: Double) -> Duration {
        let limit = min(.seconds(1) * (1 << min(failures - 1, 6)), longestWait)
        // At least half the limit, so that clients that lost the same server don't reconnect together.
        return limit * (0.5 + 0.5 * min(max(jitter, 0), 1))
    }

    /// Records that a stream is missing, and since when.
    private mutating func miss(at since: ContinuousClock.Instant, _ reason: ExperimentationError) {
        deaf = (min(deaf?.since ?? since, since), reason, deaf?.isTold ?? false)
    }

    /// Ends the silence if every stream is open.
    private mutating func noteHearing() {
        let isWhole = connections.values.allSatisfy { connection in
            switch connection.phase {
            case .open, .resting: true
            case .opening, .waiting, .refused: false
            }
        }
        if isWhole { deaf = nil }
    }

    private mutating func plan(_ cause: OFREPCause, in delay: Duration = .zero, at now: ContinuousClock.Instant) {
        let earliest = max(now.advanced(by: delay), lastTold?.advanced(by: Self.spacing) ?? now)
        due = (min(due?.at ?? earliest, earliest), due?.cause.joined(by: cause) ?? cause)
    }

    private mutating func whatIsDue(at now: ContinuousClock.Instant, jitter: Double) -> [Effect] {
        var effects: [Effect] = []
        for (stream, connection) in connections.sorted(by: { $0.key.path < $1.key.path }) {
            switch connection.phase {
            case .waiting(let until) where until <= now:
                open(stream, at: now)
                effects.append(.open(stream))
            case .opening(let since) where since.duration(to: now) >= Self.patience:
                let error = ExperimentationError(.timeout, "an event stream doesn't open")
                noteEnd(of: stream, .lost(error), at: now, jitter: jitter)
                effects.append(.close(stream))
            default: break
            }
        }
        if let deaf, !deaf.isTold, deaf.since.duration(to: now) >= Self.grace {
            self.deaf?.isTold = true
            effects.append(.tellSilence(deaf.reason))
        }
        if let due, due.at <= now {
            effects.append(.tellChange(due.cause))
            self.due = nil
            lastTold = now
        }
        return effects
    }
}
