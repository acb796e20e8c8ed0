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
    /// How soon after a first opening earlier changes are asked for; up to as long again, so that clients spread out.
    static let afterOpening = Duration.seconds(1)
    /// How long a stream may be missing before the silence is reported.
    static let grace = Duration.seconds(30)
    /// The maximum number of open streams beside those that they replace.
    static let mostStreams = 8

    private static let slow = ExperimentationError(.timeout, "an event stream doesn't open")

    private var connections: [OFREPStream: OFREPConnection] = [:]
    private var questions = OFREPQuestions()
    /// Since when the application has been in the background.
    private var unseen: ContinuousClock.Instant?
    /// Why a stream is missing, and when to report it; never again once it was.
    private var silence: (reason: ExperimentationError, due: ContinuousClock.Instant?)?

    /// The time of the next timer, if any.
    var wake: ContinuousClock.Instant? {
        var moments = connections.values.compactMap(\.due)
        if let unseen {
            moments += connections.filter { !$1.isClosed }.keys.map { unseen.advanced(by: $0.inactivityDelay) }
        }
        return (moments + [questions.due, silence?.due].compactMap(\.self)).min()
    }

    /// Handles an input.
    ///
    /// - Parameters:
    ///   - input: The input.
    ///   - now: The current instant.
    ///   - jitter: A random number in 0..<1, fresh for each call.
    /// - Returns: The effects, in order.
    mutating func take(_ input: Input, at now: ContinuousClock.Instant, jitter: Double) -> [Effect] {
        let jitter = min(max(jitter, 0), 1)
        var effects: [Effect] = []
        switch input {
        case .announced(let streams): effects += announce(Array(streams.prefix(Self.mostStreams)), at: now)
        case .opened(let stream): effects += noteOpen(stream, at: now, jitter: jitter)
        case .event(let stream, let event):
            if connections[stream] != nil { questions.plan(.event(event), in: Self.debounce, at: now) }
        case .ended(let stream, let ending): noteEnd(of: stream, ending, at: now, jitter: jitter)
        case .sight(let isSeen): effects += note(isSeen, at: now)
        case .unanswered(let cause): questions.plan(cause, at: now)
        case .failed(let streams): noteFailure(of: streams, at: now, jitter: jitter)
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
        // Several may share one, unless a server's addresses change so fast that former streams would pile up.
        let shared = former.count <= Self.mostStreams ? new.last : nil
        var gone: [OFREPStream] = []
        for stream in former {
            if let successor = connections[stream]?.successor, streams.contains(successor) { continue }
            // What changes before another stream is open in its place would be told to nobody.
            if connections[stream]?.isOpen ?? false, let successor = successors.popFirst() ?? shared {
                connections[stream]?.successor = successor
            } else {
                connections[stream] = nil
                gone.append(stream)
            }
        }
        questions.noteAnswer(at: now)
        noteHearing()
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
        let resting = connections.filter { $1.phase == .resting }.keys
        if connections.values.contains(where: \.isClosed) {
            questions.plan(.renewal, at: now)
        } else if connections.isEmpty || !connections.values.allSatisfy(\.isOpen) {
            questions.plan(.gap, at: now)
        }
        for stream in resting { open(stream, at: now) }
        return closed + resting.sorted { $0.path < $1.path }.map { .open($0) }
    }

    /// Closes streams whose inactivity delay has passed in the background.
    private mutating func rest(at now: ContinuousClock.Instant) -> [Effect] {
        guard let unseen else { return [] }
        let over = connections.filter { !$1.isClosed && unseen.advanced(by: $0.inactivityDelay) <= now }.keys
        guard !over.isEmpty else { return [] }
        for stream in over {
            let isFormer = connections[stream]?.successor != nil
            connections[stream] = isFormer ? nil : OFREPConnection(phase: .resting)
        }
        noteHearing()
        return over.sorted { $0.path < $1.path }.map { .close($0) }
    }

    private mutating func open(_ stream: OFREPStream, at now: ContinuousClock.Instant) {
        let phase = OFREPConnection.Phase.opening(since: now)
        connections[stream, default: OFREPConnection(phase: phase)].phase = phase
        miss(Self.slow, until: now.advanced(by: Self.grace))
    }

    private mutating func noteOpen(
        _ stream: OFREPStream,
        at now: ContinuousClock.Instant,
        jitter: Double
    ) -> [Effect] {
        guard let connection = connections[stream], case .opening = connection.phase else { return [] }
        connections[stream]?.phase = .open(since: now)
        if connections.values.allSatisfy(\.isOpen) { questions.noteAllOpen() }
        switch connection.missed {
        case .nothing: break
        case .sinceAnswer: questions.plan(.gap, in: Self.afterOpening * (1 + jitter), at: now)
        case .sinceBreak: questions.plan(.gap, at: now)
        }
        noteHearing()
        let replaced = connections.filter { $1.successor == stream }.keys.sorted { $0.path < $1.path }
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
            let isHopeful = error.code == .unauthorized && questions.planForAddresses(at: now)
            // Otherwise it won't reopen, so the silence is reported at once.
            miss(error, until: isHopeful ? now.advanced(by: Self.grace) : now)
        case .lost(let error, let asked):
            connection.noteBreak(at: now, waiting: asked, jitter: jitter)
            miss(error, until: now.advanced(by: Self.grace))
        }
        connections[stream] = connection
    }

    private mutating func noteFailure(of streams: [OFREPStream], at now: ContinuousClock.Instant, jitter: Double) {
        // Back in the foreground it is asked anyway.
        guard unseen == nil else { return }
        let isMissing = streams.contains { connections[$0]?.phase == .refused }
        questions.planAgainForAddresses(evenIfAnswered: isMissing, at: now, jitter: jitter)
    }

    /// Records that a stream is missing, and until when that isn't reported.
    private mutating func miss(_ reason: ExperimentationError, until moment: ContinuousClock.Instant) {
        let due = if let silence { silence.due.map { min($0, moment) } } else { moment }
        silence = (reason, due)
    }

    /// Ends the silence if every stream is open.
    private mutating func noteHearing() {
        if connections.values.allSatisfy({ $0.isOpen || $0.phase == .resting }) { silence = nil }
    }

    private mutating func whatIsDue(at now: ContinuousClock.Instant, jitter: Double) -> [Effect] {
        var effects: [Effect] = []
        for (stream, connection) in connections.sorted(by: { $0.key.path < $1.key.path }) {
            guard let due = connection.due, due <= now else { continue }
            if case .waiting = connection.phase {
                open(stream, at: now)
                effects.append(.open(stream))
            } else {
                noteEnd(of: stream, .lost(Self.slow), at: now, jitter: jitter)
                effects.append(.close(stream))
            }
        }
        if let silence, let due = silence.due, due <= now {
            self.silence?.due = nil
            effects.append(.tellSilence(silence.reason))
        }
        if let cause = questions.take(at: now) { effects.append(.tellChange(cause)) }
        return effects
    }
}
