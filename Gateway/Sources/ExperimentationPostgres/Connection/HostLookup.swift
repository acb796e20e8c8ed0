import Foundation
import Synchronization

/// Looks up the addresses of hosts by a deadline, which `getaddrinfo` doesn't support.
///
/// At most one lookup for each name is under way at a time, on a thread of its own; a caller that waits for it may give
/// up.
final class HostLookup: Sendable {
    /// Returns the addresses of a host, in the order in which to try them.
    typealias Resolve = @Sendable (_ name: String) -> Result<[String], ConnectionFailure>

    /// The process's lookup, so that a resolver that hangs blocks one thread for each name, however many connections
    /// are opened.
    static let shared = HostLookup()

    private let resolve: Resolve
    private let running = Mutex<[String: Pending]>([:])

    init(_ resolve: @escaping Resolve = { HostLookup.resolve($0) }) { self.resolve = resolve }

    /// Waits for the addresses of a host.
    func addresses(of name: String, by deadline: Deadline) throws(ConnectionFailure) -> [String] {
        // A numeric address needs no thread.
        if case .success(let addresses) = Self.resolve(name, flags: AI_NUMERICHOST) { return addresses }
        let (pending, isNew) = running.withLock { running in
            if let known = running[name] { return (known, false) }
            let pending = Pending()
            running[name] = pending
            return (pending, true)
        }
        if isNew {
            Thread.detachNewThread { [self] in
                let result = resolve(name)
                running.withLock { $0[name] = nil }
                pending.end(result)
            }
        }
        return try pending.result(by: deadline).get()
    }

    /// A lookup under way.
    private final class Pending: Sendable {
        private let found = Mutex<Result<[String], ConnectionFailure>?>(nil)
        private let group = DispatchGroup()

        init() { group.enter() }

        func end(_ result: Result<[String], ConnectionFailure>) {
            found.withLock { $0 = result }
            group.leave()
        }

        func result(by deadline: Deadline) -> Result<[String], ConnectionFailure> {
            _ = group.wait(timeout: .now() + .milliseconds(Int(deadline.milliseconds)))
            return found.withLock { $0 } ?? .failure(.late(deadline.patience))
        }
    }

    private static func resolve(_ name: String, flags: Int32 = 0) -> Result<[String], ConnectionFailure> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = flags
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &first)
        guard status == 0 else {
            return .failure(.lost("the host \(name) has no address: \(String(cString: gai_strerror(status)))"))
        }
        defer { freeaddrinfo(first) }
        // Each address is returned once for each kind of socket.
        var addresses: [String] = []
        var next = first
        while let info = next?.pointee {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let status = getnameinfo(
                info.ai_addr,
                info.ai_addrlen,
                &text,
                socklen_t(text.count),
                nil,
                0,
                NI_NUMERICHOST
            )
            let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if status == 0, !addresses.contains(address) { addresses.append(address) }
            next = info.ai_next
        }
        return .success(addresses)
    }
}
