import AdapterKit
import Experimentation
import HTTPTypes
import Synchronization

/// That the server told of a change.
struct OFREPChange: Sendable, Hashable {
    /// Counts up from 1.
    var number: Int
    /// The event that told it; `nil` after a silence, in which anything may have changed.
    var event: OFREPEvent?
}

/// Keeps the event streams open that the server names, and hands on what they tell.
///
/// What to do and when is ``OFREPListening``'s to say; here it is done.
final class OFREPListener: ChangeSource {
    /// The longest time that one stream is read before it is opened anew: a connection that has died is noticed then.
    private static let longest = Duration.seconds(900)
    /// For how many users, the last ones, it is remembered which streams they were told of.
    private static let mostUsers = 64

    private struct State {
        var listening = OFREPListening()
        var output: AsyncStream<ChangeNotice>.Continuation?
        var connections: [OFREPStream: (number: Int, task: Task<Void, Never>)] = [:]
        var lastNumber = 0
        var lastIDs: [OFREPStream: String] = [:]
        var users: [(id: String, streams: [OFREPStream])] = []
        var alarm: (at: ContinuousClock.Instant, task: Task<Void, Never>)?
        var lastChange: OFREPChange?
    }

    private let requests: OFREPRequests
    private let transport: any HTTPTransport
    private let environment: ClientEnvironment
    private let state = Mutex(State())

    init(_ requests: OFREPRequests, transport: any HTTPTransport, environment: ClientEnvironment) {
        self.requests = requests
        self.transport = transport
        self.environment = environment
    }

    /// The last change that was told, if any was.
    var lastChange: OFREPChange? { state.withLock { $0.lastChange } }

    func notices() -> AsyncStream<ChangeNotice> {
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self)
        continuation.onTermination = { [weak self] _ in self?.stop() }
        state.withLock { $0.output = continuation }
        return stream
    }

    /// Takes account of the streams that came with a user's answer.
    func listen(to announcements: [OFREPStream.Announcement], for userID: String) {
        let streams = announcements.prefix(OFREPListening.mostStreams).compactMap {
            OFREPStream($0, of: requests.baseURL)
        }
        if streams.count < announcements.count {
            // Without the address, which may hold credentials.
            environment.log.log(
                .warning,
                "ofrep.streams",
                "\(announcements.count - streams.count) of the server's event streams can't be listened to"
            )
        }
        note(streams, of: userID)
    }

    /// Forgets which streams a user was told of.
    func forget(_ userID: String) { note(nil, of: userID) }

    /// Closes streams while the application is out of sight for long, as their server wants it.
    func setApplicationState(_ applicationState: ApplicationState) { drive(.sight(applicationState != .background)) }

    /// Closes all streams, until the server names some again.
    func close() {
        state.withLock { $0.users = [] }
        drive(.announced([]))
    }

    /// Closes all streams and tells nothing more.
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
        let all = state.withLock { state -> [OFREPStream] in
            state.users.removeAll { $0.id == userID }
            if let streams { state.users.append((userID, streams)) }
            if state.users.count > Self.mostUsers { state.users.removeFirst() }
            var all: [OFREPStream] = []
            for stream in state.users.reversed().flatMap(\.streams) where !all.contains(stream) { all.append(stream) }
            return all
        }
        drive(.announced(all))
    }

    // MARK: What is to be done

    /// Takes account of what has happened, and does what follows.
    ///
    /// - Parameters:
    ///   - input: What has happened.
    ///   - stream: The stream that it has happened to, if it is a stream's affair.
    ///   - number: That stream's connection; nothing follows if it isn't the present one any more.
    private func drive(_ input: OFREPListening.Input, of stream: OFREPStream? = nil, number: Int = 0) {
        let (now, jitter) = (environment.time.instant, environment.jitter())
        state.withLock { state in
            guard state.output != nil || state.alarm != nil || !state.connections.isEmpty else { return }
            if let stream, state.connections[stream]?.number != number { return }
            if case .ended(let stream, _) = input { state.connections.removeValue(forKey: stream)?.task.cancel() }
            for effect in state.listening.take(input, at: now, jitter: jitter) { perform(effect, &state) }
            setAlarm(&state)
        }
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
        case .tellChange(let event):
            state.lastChange = OFREPChange(number: (state.lastChange?.number ?? 0) + 1, event: event)
            state.output?.yield(.changed)
        case .tellSilence(let error):
            state.output?.yield(.unheard(error))
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

    // MARK: One stream

    private func run(_ stream: OFREPStream, number: Int, after id: String?) async {
        let (parts, sink) = AsyncStream.makeStream(of: HTTPPart.self)
        async let end = read(stream, after: id, into: sink)
        var reader = OFREPEventReader()
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
    /// - Returns: Why it ended.
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
