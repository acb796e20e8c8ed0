import AdapterKit
import Experimentation
import HTTPTypes
import Synchronization

/// Keeps open the event streams that the server names, forwards their events, and announces returns to the foreground.
///
/// Carries out the effects that ``OFREPListening`` decides on.
final class OFREPListener: ChangeSource {
    /// The maximum lifetime of one connection, so that a dead one is noticed.
    private static let longest = Duration.seconds(900)
    /// The number of most recent users whose streams are remembered.
    private static let mostUsers = 64

    private struct AnsweredUser {
        var id: ExactText
        var streams: [OFREPStream]
    }

    private struct State {
        var listening = OFREPListening()
        var output: AsyncStream<ChangeNotice>.Continuation?
        var connections: [OFREPStream: (number: Int, task: Task<Void, Never>)] = [:]
        var lastNumber = 0
        var lastIDs: [OFREPStream: String] = [:]
        var users: [AnsweredUser] = []
        var reflections = OFREPReflections()
        var alarm: (at: ContinuousClock.Instant, task: Task<Void, Never>)?
        var lastChange: OFREPChange?
    }

    private let requests: OFREPRequests
    /// Whether it opens streams; otherwise it only announces returns to the foreground.
    private let opensStreams: Bool
    private let transport: any HTTPTransport
    private let environment: ClientEnvironment
    private let state = Mutex(State())
    private let announcements = Announcements<(output: AsyncStream<ChangeNotice>.Continuation, notice: ChangeNotice)>()

    init(
        _ requests: OFREPRequests,
        opensStreams: Bool,
        transport: any HTTPTransport,
        environment: ClientEnvironment
    ) {
        self.requests = requests
        self.opensStreams = opensStreams
        self.transport = transport
        self.environment = environment
    }

    /// The last announced change, if any.
    var lastChange: OFREPChange? { state.withLock { $0.lastChange } }

    func notices() -> AsyncStream<ChangeNotice> {
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self)
        continuation.onTermination = { [weak self] _ in self?.stop() }
        state.withLock { $0.output = continuation }
        return stream
    }

    /// Records that the answer to a question reflects a change and all before it; not needed when polling.
    func noteAnswer(to question: [UInt8], of userID: String, at change: Int) {
        if opensStreams { state.withLock { $0.reflections.note(question, of: userID, at: change) } }
    }

    /// Announces the last change again later if a failed question lacks an answer to it; if polling, the next poll asks
    /// anyway.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - userID: The user.
    ///   - end: The end of the wait that the server asked for, if any.
    func noteFailure(of question: [UInt8], of userID: String, until end: ContinuousClock.Instant?) {
        let isUnanswered = state.withLock { state in
            guard let change = state.lastChange else { return false }
            return state.reflections.lacks(change.number, question, of: userID)
        }
        if isUnanswered { drive(.failed(until: end)) }
    }

    /// Adopts the streams announced with a user's answer.
    func listen(to announcements: [OFREPStream.Announcement], for userID: String) {
        guard opensStreams else { return }
        let streams = announcements.prefix(OFREPStream.most).compactMap {
            OFREPStream($0, of: requests.baseURL)
        }
        if streams.count < announcements.count {
            // The address may contain credentials, so it isn't logged.
            environment.log.log(
                .warning,
                "ofrep.streams",
                "\(announcements.count - streams.count) of the server's event streams have unusable addresses"
            )
        }
        note(streams, of: userID)
    }

    /// Forgets which streams were announced to a user, and everything recorded about their questions.
    func forget(_ userID: String) { note(nil, of: userID) }

    /// Closes streams after the application has been in the background for the server's inactivity delay, and announces
    /// a change on its return unless all streams are open.
    func setApplicationState(_ applicationState: ApplicationState) { drive(.sight(applicationState != .background)) }

    /// Closes all streams until the server announces some again.
    func close() {
        drive { state in
            (state.users, state.reflections) = ([], OFREPReflections())
            return .announced([])
        }
    }

    /// Closes all streams permanently.
    func stop() {
        let output = state.withLock { state in
            defer { state.output = nil }
            return state.output
        }
        output?.finish()
        close()
        state.withLock { state in
            state.alarm?.task.cancel()
            state.alarm = nil
        }
    }

    private func note(_ streams: [OFREPStream]?, of userID: String) {
        let id = ExactText(userID)
        drive { state in
            state.users.removeAll { $0.id == id }
            if let streams {
                state.users.append(AnsweredUser(id: id, streams: streams))
            } else {
                state.reflections.forget(userID)
            }
            if state.users.count > Self.mostUsers { state.users.removeFirst() }
            var all: [OFREPStream] = []
            for stream in state.users.reversed().flatMap(\.streams) where !all.contains(stream) { all.append(stream) }
            return .announced(all)
        }
    }

    // MARK: Effects

    /// Feeds an input to the state machine and carries out the effects.
    ///
    /// - Parameters:
    ///   - input: The input.
    ///   - stream: The stream that it concerns, if any.
    ///   - number: The number of that stream's connection; input from an earlier connection is ignored.
    private func drive(_ input: OFREPListening.Input, of stream: OFREPStream? = nil, number: Int = 0) {
        drive(of: stream, number: number) { _ in input }
    }

    /// Feeds an input that follows from the state to the state machine, and carries out the effects.
    ///
    /// The input is made in the same step: of two simultaneous ones, the later takes the earlier into account.
    private func drive(
        of stream: OFREPStream? = nil,
        number: Int = 0,
        _ makeInput: (inout State) -> OFREPListening.Input
    ) {
        let (now, jitter) = (environment.time.instant, environment.jitter())
        state.withLock { state in
            let input = makeInput(&state)
            guard state.output != nil || state.alarm != nil || !state.connections.isEmpty else { return }
            if let stream, state.connections[stream]?.number != number { return }
            if case .ended(let stream, _) = input { state.connections.removeValue(forKey: stream)?.task.cancel() }
            for effect in state.listening.take(input, at: now, jitter: jitter) { perform(effect, &state) }
            setAlarm(&state)
        }
        announcements.make { output, notice in output.yield(notice) }
    }

    private func announce(_ notice: ChangeNotice, _ state: State) {
        if let output = state.output { announcements.add((output, notice)) }
    }

    private func perform(_ effect: OFREPListening.Effect, _ state: inout State) {
        switch effect {
        case .open(let stream):
            state.lastNumber += 1
            let (number, id) = (state.lastNumber, state.lastIDs[stream])
            state.connections[stream] = (number, Task { await self.run(stream, number: number, after: id) })
        case .close(let stream):
            state.connections.removeValue(forKey: stream)?.task.cancel()
            state.lastIDs[stream] = nil
        case .tellChange(let cause):
            state.lastChange = OFREPChange(cause, after: state.lastChange)
            announce(.changed, state)
        case .tellSilence(let error):
            announce(.unheard(error), state)
        }
    }

    private func setAlarm(_ state: inout State) {
        let wake = state.listening.wake
        guard wake != state.alarm?.at else { return }
        state.alarm?.task.cancel()
        state.alarm = wake.map { wake in
            let task = Task { [environment] in
                do { try await environment.time.sleep(until: wake) } catch { return }
                self.ring(wake)
            }
            return (wake, task)
        }
    }

    private func ring(_ moment: ContinuousClock.Instant) {
        state.withLock { state in
            if state.alarm?.at == moment { state.alarm = nil }
        }
        drive(.time)
    }

    // MARK: Reading

    private func run(_ stream: OFREPStream, number: Int, after id: String?) async {
        let (parts, sink) = AsyncStream.makeStream(of: HTTPPart.self)
        async let end = read(stream, after: id, into: sink)
        var reader = OFREPEventReader(after: id)
        for await part in parts {
            switch part {
            case .head(let head):
                if let ending = OFREPErrors.ending(of: head, date: environment.time.now) {
                    drive(.ended(stream, ending), of: stream, number: number)
                } else {
                    drive(.opened(stream), of: stream, number: number)
                }
            case .body(let bytes):
                for message in reader.take(bytes) { take(message, of: stream, number: number) }
            }
        }
        drive(.ended(stream, .lost(await end)), of: stream, number: number)
    }

    private func take(_ message: OFREPEventReader.Message, of stream: OFREPStream, number: Int) {
        state.withLock { state in
            if state.connections[stream]?.number == number { state.lastIDs[stream] = message.id }
        }
        guard let event = OFREPEvent(data: message.data) else { return }
        drive(.event(stream, event), of: stream, number: number)
    }

    /// Reads a stream to its end.
    ///
    /// - Returns: The reason for the end.
    private func read(
        _ stream: OFREPStream,
        after id: String?,
        into sink: AsyncStream<HTTPPart>.Continuation
    ) async -> ExperimentationError {
        defer { sink.finish() }
        do throws(ExperimentationError) {
            let request = try requests.stream(stream, after: id)
            _ = try await transport.stream(request, limits: HTTPLimits(deadline: Self.longest)) { sink.yield($0) }
            return ExperimentationError(.transport, "an event stream has ended")
        } catch {
            return error
        }
    }
}
