import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// Serves a ``MockVendor`` on a socket, keeps a journal of every exchange, and injects scripted faults.
///
/// ```swift
/// let server = MockServer(vendor)
/// try await server.start()
/// server.addFault(ScriptedFault(.status(503), on: "token", times: 2))
/// // … point a client at `server.url` …
/// try await server.waitForRequests(count: 3)
/// await server.stop()
/// ```
///
/// The same socket answers `/_mock/requests`, `/_mock/reset`, `/_mock/script` and `/_mock/world`; other paths under
/// `/_mock` are passed to the vendor. These requests are not journaled, and faults don't affect them.
public final class MockServer: Sendable {
    /// The vendor that answers.
    public let vendor: any MockVendor
    /// The address to listen on.
    public let host: String
    /// How long a client of this server should wait for an answer; the server itself ignores it.
    public let patience: Duration

    let state: Mutex<State>

    /// Creates a server that doesn't listen yet.
    ///
    /// - Parameters:
    ///   - vendor: The vendor that answers.
    ///   - host: The address to listen on.
    ///   - port: The port to listen on; 0 for any free one, which is then reserved for the server's lifetime.
    ///   - patience: How long a client of this server should wait for an answer.
    public init(
        _ vendor: any MockVendor,
        host: String = "127.0.0.1",
        port: Int = 0,
        patience: Duration = .seconds(10)
    ) {
        self.vendor = vendor
        self.host = host
        self.patience = patience
        state = Mutex(State(port: port))
    }

    /// The port that the server listens on, also before it starts and after it stops; 0 before the first ``start()``
    /// unless one was requested.
    public var port: Int { state.withLock { $0.port } }

    /// The base address, without a trailing slash: `http://127.0.0.1:40123`.
    public var url: String { "http://\(host):\(port)" }

    /// The named base addresses that an application configures for this vendor.
    public var endpoints: [String: String] { vendor.endpoints(at: url) }

    /// Starts listening, always on the same port.
    ///
    /// Does nothing while the server is running. Keeps the journal, the script and the vendor's state.
    ///
    /// - Throws: ``MockServerError/portInUse(host:port:)`` or ``MockServerError/cannotListen(host:port:reason:)``.
    public func start() async throws(MockServerError) {
        let port = state.withLock { state -> Int? in state.running == nil ? state.port : nil }
        guard let port else { return }
        state.withLock { $0.isStopped = false }
        // Reserved before the first listener binds: between a listener's end and a later reservation, another server
        // could get the port.
        let keeper = state.withLock { $0.keeper } ?? PortKeeper(host: host, port: port)
        let listener = try await listen(port: keeper?.port ?? port)
        let task = Task { await self.accept(on: listener) }
        state.withLock { state in
            state.port = listener.channel.localAddress?.port ?? port
            state.running = Running(listener: listener.channel, task: task)
            state.keeper = keeper
        }
    }

    /// Stops listening and closes every connection; clients see an unavailable server.
    ///
    /// The port stays reserved for the lifetime of this server, so that ``start()`` can reuse it.
    public func stop() async {
        let running = state.withLock { state -> Running? in
            defer { state.running = nil }
            return state.running
        }
        guard let running else { return }
        try? await running.listener.close()
        let (connections, tasks) = state.withLock { state in
            state.isStopped = true
            return (Array(state.connections.values), Array(state.tasks.values))
        }
        for connection in connections { connection.close(promise: nil) }
        for task in tasks + [running.task] { task.cancel() }
        for task in tasks + [running.task] { await task.value }
    }

    /// Clears the journal and the fault script, and resets the vendor.
    public func reset() async {
        state.withLock { state in
            state.script = []
            state.journal = []
            state.forgotten = 0
        }
        await vendor.reset()
    }

    private func listen(port: Int) async throws(MockServerError) -> Listener {
        do {
            return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(host: host, port: port) { channel in
                    // Served here rather than from the listener's sequence: that sequence is dropped when the server
                    // stops, and dropping a connection that was never served traps.
                    channel.eventLoop.makeCompletedFuture {
                        self.admit(
                            try RequestCollector.install(in: channel, accepting: type(of: self.vendor).contentEncodings)
                        )
                    }
                }
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw .portInUse(host: host, port: port)
        } catch let error as IOError {
            throw .cannotListen(host: host, port: port, reason: String(cString: strerror(error.errnoCode)))
        } catch {
            throw .cannotListen(host: host, port: port, reason: "\(error)")
        }
    }

    private func accept(on listener: Listener) async {
        // An error of the listening socket means that it was closed; each connection handles its own errors.
        try? await listener.executeThenClose { connections in
            for try await _ in connections {}
        }
    }

    /// Accepts and serves a connection, or closes it immediately if the server has stopped meanwhile.
    private func admit(_ connection: NIOAsyncChannel<Arrival, ByteBuffer>) {
        let channel = connection.channel
        let isStopped = state.withLock { state in
            state.lastConnection += 1
            let number = state.lastConnection
            state.connections[number] = channel
            // Started under the lock, so that the task is registered before its completion can remove it.
            state.tasks[number] = Task { await self.serve(connection, number: number) }
            return state.isStopped
        }
        if isStopped { channel.close(promise: nil) }
    }

    typealias Listener = NIOAsyncChannel<Void, Never>

    struct Running {
        let listener: any Channel
        let task: Task<Void, Never>
    }

    struct State {
        var port: Int
        var running: Running?
        var keeper: PortKeeper?
        var connections: [Int: any Channel] = [:]
        var tasks: [Int: Task<Void, Never>] = [:]
        var isStopped = false
        var lastConnection = 0
        var journal: [JournalEntry] = []
        var journalLimit = Int.max
        var forgotten = 0
        var lastEntry = 0
        var script: [ScriptedFault] = []
        var roundTrip: Duration = .zero
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
        let epoch = ContinuousClock.now
    }
}
