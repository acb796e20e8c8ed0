import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A raw connection to a server, for bytes that no client would send.
final class Connection {
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let alarm: Alarm
    private var reader = ReplyReader()
    /// Whether the server has closed it.
    private(set) var isEnded = false

    /// Closes a connection when its time is up.
    private final class Alarm: Sendable {
        private let state = Mutex<(hasRung: Bool, scheduled: Scheduled<Void>?)>((false, nil))
        private let channel: any Channel

        init(_ channel: any Channel) { self.channel = channel }

        var hasRung: Bool { state.withLock { $0.hasRung } }

        func set(_ time: Duration) {
            let scheduled = channel.eventLoop.scheduleTask(in: TimeAmount(time)) { [self] in
                state.withLock { $0.hasRung = true }
                channel.close(promise: nil)
            }
            state.withLock { state in
                state.scheduled?.cancel()
                state.scheduled = scheduled
            }
        }

        func stop() { state.withLock { $0.scheduled?.cancel() } }
    }

    private init(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        _ alarm: Alarm
    ) {
        self.inbound = inbound
        self.outbound = outbound
        self.alarm = alarm
    }

    /// Opens a connection for the duration of `body`, limited by its time.
    ///
    /// - Throws: ``Trouble``, and what `body` throws.
    static func open<Value: Sendable>(
        to server: OFREPServer,
        within time: Duration,
        _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        let peer = server.peer
        let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
        do {
            channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(TimeAmount(time))
                .connect(host: peer.host, port: peer.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel(
                            wrappingChannelSynchronously: channel,
                            configuration: .init(isOutboundHalfClosureEnabled: true)
                        )
                    }
                }
        } catch {
            throw Trouble.unreachable(reason(error))
        }
        return try await channel.executeThenClose { inbound, outbound in
            let alarm = Alarm(channel.channel)
            alarm.set(time)
            defer { alarm.stop() }
            return try await body(Connection(inbound.makeAsyncIterator(), outbound, alarm))
        }
    }

    /// Why no connection could be opened.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? NIOConnectionError else { return "\(error)" }
        if error.dnsAError != nil, error.connectionErrors.isEmpty { return "its name leads nowhere" }
        switch error.connectionErrors.first?.error {
        case let error as IOError: return String(cString: strerror(error.errnoCode)).lowercased()
        case ChannelError.connectTimeout?: return "it doesn't answer"
        default: return "no connection could be opened"
        }
    }

    /// Sends bytes; does nothing if the server has already closed the connection.
    func send(_ bytes: [UInt8]) async throws {
        do { try await outbound.write(ByteBuffer(bytes: bytes)) } catch is CancellationError {
            throw CancellationError()
        } catch {
            // Anything sent before the close can still be read.
        }
    }

    /// Sends a text.
    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Waits for the next answer; `nil` if the server closes without one.
    func reply(to method: String = "POST") async throws -> Reply? {
        while true {
            if let reply = try reader.next(to: method, isAtEnd: isEnded) {
                if reply.status < 200 { continue }
                return reply
            }
            guard try await readMore() else { return try reader.next(to: method, isAtEnd: true) }
        }
    }

    /// Waits for the head of the next answer; leaves its body unread.
    func head() async throws -> Reply? {
        while true {
            if let (reply, _) = try reader.head() { return reply }
            guard try await readMore() else { return nil }
        }
    }

    /// Waits for the first event with data on a stream.
    func event() async throws -> ServerSentEvent {
        while true {
            let events = try reader.bodySoFar().map { ServerSentEvent.read($0) } ?? []
            if let event = events.first(where: { $0.data != nil }) { return event }
            guard try await readMore() else { throw Trouble.ended("the stream ended before an event came") }
        }
    }

    /// Returns everything received until the server closes.
    func rest() async throws -> String {
        while try await readMore() {}
        return String(decoding: reader.bytes, as: UTF8.self)
    }

    /// Whether it stays open for a time.
    func staysOpen(for time: Duration) async throws -> Bool {
        alarm.set(time)
        do { while try await readMore() {} } catch Trouble.timeIsUp { return true }
        return false
    }

    private func readMore() async throws -> Bool {
        guard !isEnded else { return false }
        do {
            if let part = try await inbound.next() {
                reader.append(part.readableBytesView)
                return true
            }
        } catch is IOError {
            // A reset ends the connection like a close.
        }
        if alarm.hasRung { throw Trouble.timeIsUp }
        try Task.checkCancellation()
        isEnded = true
        return false
    }
}

/// What went wrong on a connection.
enum Trouble: Error, Equatable, CustomStringConvertible {
    case unreachable(String)
    case timeIsUp
    case ended(String)

    var description: String {
        switch self {
        case .unreachable(let reason): "the server can't be reached: \(reason)"
        case .timeIsUp: "no answer came in time"
        case .ended(let what): what
        }
    }
}
