import Experimentation

/// The state machine of the event streams; pure: time and randomness are parameters.
///
/// A stream that breaks is reopened after a second, doubling up to a minute. Decisions are asked for again after a
/// stream has opened, because changes before that went unheard, and on return to the foreground. Events in quick
/// succession count as one change. Open streams that are no longer announced stay until all others are open; if they
/// heard everything, nothing is asked for then. If not everything is heard for 30 seconds, the silence is reported.
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
        /// The question for a reported change failed for a user; the server may have asked for a wait until an instant.
        case failed(until: ContinuousClock.Instant?)
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
    /// How soon after a first opening to ask for earlier changes; up to as long again, so that clients spread out.
    static let afterOpening = Duration.seconds(1)
    /// How long a stream may be missing before the silence is reported.
    static let grace = Duration.seconds(30)

    private static let slow = ExperimentationError(.timeout, "an event stream doesn't open")

    /// The announced streams.
    private var connections: [OFREPStream: OFREPConnection] = [:]
    private var handover = OFREPHandover()
    private var questions = OFREPQuestions()
    /// Since when the application has been in the background.
    private var unseen: ContinuousClock.Instant?
    /// Why not everything is heard, and when to report it; it is reported only once.
    private var silence: (reason: ExperimentationError, due: ContinuousClock.Instant?)?

    /// The time of the next timer, if any.
    var wake: ContinuousClock.Instant? {
        var moments = connections.values.compactMap(\.due)
        if let unseen { moments += active.map { unseen.advanced(by: $0.inactivityDelay) } }
        return (moments + [questions.due, silence?.due, handover.due].compactMap(\.self)).min()
    }

    /// The streams to close in the background.
    private var active: Set<OFREPStream> {
        handover.former.union(connections.filter { !$1.isClosed }.keys)
    }

    private var isHearing: Bool {
        handover.hearsAll(of: connections.count)
            || connections.values.allSatisfy { $0.isOpen || $0.phase == .resting }
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
        case .announced(let streams): effects += announce(Array(streams.prefix(OFREPStream.most)), at: now)
        case .opened(let stream): noteOpen(stream, at: now, jitter: jitter)
        case .event(let stream, let event):
            if connections[stream] != nil || handover.former.contains(stream) {
                questions.plan(.event(event), in: Self.debounce, at: now)
            }
        case .ended(let stream, let ending): effects += noteEnd(of: stream, ending, at: now, jitter: jitter)
        case .sight(let isSeen): effects += note(isSeen, at: now)
        case .failed(let end) where unseen == nil: questions.planAgain(after: end, at: now, jitter: jitter)
        // In the background, the question is asked again only on return.
        case .failed: questions.noteFailure()
        case .time: break
        }
        effects += rest(at: now)
        effects += reopen(at: now, jitter: jitter)
        effects += settle(at: now, jitter: jitter)
        noteHearing(at: now)
        return effects + whatIsDue(at: now)
    }

    private mutating func announce(_ streams: [OFREPStream], at now: ContinuousClock.Instant) -> [Effect] {
        let left = connections.filter { !streams.contains($0.key) }
        for stream in left.keys { connections[stream] = nil }
        for stream in handover.former.intersection(streams) {
            connections[stream] = OFREPConnection(phase: .open(since: now))
        }
        let new = streams.filter { connections[$0] == nil }
        let ended = handover.begin(leaving: left, for: streams, opensNew: !new.isEmpty, at: now)
        let over = ended.union(left.keys).subtracting(handover.former)
        for stream in new { open(stream, at: now) }
        return close(over) + new.map { .open($0) }
    }

    /// Reopens the streams closed for the background, and asks for changes missed meanwhile.
    private mutating func note(_ isSeen: Bool, at now: ContinuousClock.Instant) -> [Effect] {
        guard isSeen else {
            unseen = unseen ?? now
            return []
        }
        guard unseen != nil else { return [] }
        // No timer fires while the process is suspended.
        let closed = rest(at: now)
        unseen = nil
        let resting = connections.filter { $1.phase == .resting }.keys.sorted { $0.path < $1.path }
        if connections.values.contains(where: \.isClosed) {
            questions.plan(.renewal, at: now)
        } else if connections.isEmpty || !isHearing || questions.hasFailed {
            questions.plan(.gap, at: now)
        }
        for stream in resting { open(stream, at: now) }
        return closed + resting.map { .open($0) }
    }

    /// Closes streams whose inactivity delay has passed in the background.
    private mutating func rest(at now: ContinuousClock.Instant) -> [Effect] {
        guard let unseen else { return [] }
        let over = active.filter { unseen.advanced(by: $0.inactivityDelay) <= now }
        guard !over.isEmpty else { return [] }
        for stream in over where connections[stream] != nil {
            connections[stream] = OFREPConnection(phase: .resting)
        }
        handover.rest(over)
        return close(over)
    }

    private mutating func open(_ stream: OFREPStream, at now: ContinuousClock.Instant) {
        let phase = OFREPConnection.Phase.opening(since: now)
        connections[stream, default: OFREPConnection(phase: phase)].phase = phase
    }

    private func close(_ streams: Set<OFREPStream>) -> [Effect] {
        streams.sorted { $0.path < $1.path }.map { .close($0) }
    }

    private mutating func noteOpen(_ stream: OFREPStream, at now: ContinuousClock.Instant, jitter: Double) {
        guard let connection = connections[stream], case .opening = connection.phase else { return }
        connections[stream]?.phase = .open(since: now)
        if handover.hearsAll(of: connections.count) { return }
        if connection.wasOpen {
            questions.plan(.gap, at: now)
        } else if !handover.noteOpening() {
            questions.plan(.gap, in: Self.afterOpening * (1 + jitter), at: now)
        }
    }

    private mutating func noteEnd(
        of stream: OFREPStream,
        _ ending: Ending,
        at now: ContinuousClock.Instant,
        jitter: Double
    ) -> [Effect] {
        let isFormer = handover.noteEnd(of: stream)
        guard isFormer || connections[stream] != nil else { return [] }
        switch ending {
        case .refused(let error):
            connections[stream]?.phase = .refused
            // Its address may have expired, and the next answer names one that hasn't.
            let isHopeful = error.code == .unauthorized
            if isHopeful { questions.planForAddresses(at: now) }
            // Otherwise it won't reopen, so the silence is reported at once.
            miss(error, until: isHopeful ? now.advanced(by: Self.grace) : now)
        case .lost(let error, let asked):
            connections[stream]?.noteBreak(at: now, waiting: asked, jitter: jitter)
            // No other stream will replace a former one if its replacement was refused.
            let isLast = isFormer && connections.values.contains { $0.phase == .refused }
            miss(error, until: isLast ? now : now.advanced(by: Self.grace))
        }
        return isFormer ? [.close(stream)] : []
    }

    /// Records that a stream is missing, and when to report it.
    private mutating func miss(_ reason: ExperimentationError, until moment: ContinuousClock.Instant) {
        let due = if let silence { silence.due.map { min($0, moment) } } else { moment }
        silence = (reason, due)
    }

    /// Reopens streams, and closes those whose opening has taken too long.
    private mutating func reopen(at now: ContinuousClock.Instant, jitter: Double) -> [Effect] {
        var effects: [Effect] = []
        for (stream, connection) in connections.sorted(by: { $0.key.path < $1.key.path }) {
            guard let due = connection.due, due <= now else { continue }
            if case .waiting = connection.phase {
                open(stream, at: now)
                effects.append(.open(stream))
            } else {
                effects += noteEnd(of: stream, .lost(Self.slow), at: now, jitter: jitter) + [.close(stream)]
            }
        }
        return effects
    }

    /// Closes former streams once the announced ones have taken their place, and asks for what was missed meanwhile.
    private mutating func settle(at now: ContinuousClock.Instant, jitter: Double) -> [Effect] {
        let areSettled = connections.values.allSatisfy(\.isSettled)
        let areOpen = connections.values.allSatisfy(\.isOpen)
        let isAsking = handover.takeOpenings(at: now) || (areSettled && handover.isUnderWay)
        if isAsking, !handover.hearsAll(of: connections.count) {
            questions.planAfterHandover(in: Self.afterOpening * (1 + jitter), at: now)
        }
        guard areSettled else { return [] }
        if areOpen, !connections.isEmpty { questions.noteAllOpen() }
        return close(handover.settle(Set(connections.keys), areOpen: areOpen))
    }

    /// Begins or ends the silence.
    private mutating func noteHearing(at now: ContinuousClock.Instant) {
        if isHearing { silence = nil } else if silence == nil { miss(Self.slow, until: now.advanced(by: Self.grace)) }
    }

    private mutating func whatIsDue(at now: ContinuousClock.Instant) -> [Effect] {
        var effects: [Effect] = []
        if let silence, let due = silence.due, due <= now {
            self.silence?.due = nil
            effects.append(.tellSilence(silence.reason))
        }
        if let cause = questions.take(at: now) { effects.append(.tellChange(cause)) }
        return effects
    }
}
