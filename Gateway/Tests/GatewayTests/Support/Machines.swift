import Foundation
import PostgresServers
import Synchronization

/// A value that several tasks record.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }
    func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}

/// Three instances, each with a file and a way to the database of its own, which can be killed and cut off.
final class Machines: Sendable {
    let site: Site
    let relays: [CuttingRelay]
    private let instances = Mutex<[Instance]>([])

    init(_ site: Site) async throws {
        self.site = site
        relays = try (0..<3).map { _ in try CuttingRelay(to: site.database) }
        for number in 0..<3 {
            let instance = try await start(number)
            instances.withLock { $0.append(instance) }
        }
    }

    subscript(number: Int) -> Instance { instances.withLock { $0[number % 3] } }

    private func start(_ number: Int) async throws -> Instance {
        let file = site.folder.appendingPathComponent("meanwhile-\(number).sqlite").path
        return try await site.instance(
            url: relays[number].url,
            ["XP_GATEWAY_TENANTS_SHOP_STORE_POSTGRES_MEANWHILE": file]
        )
    }

    func kill(_ number: Int) async throws {
        try await self[number].child.kill()
        let next = try await start(number)
        instances.withLock { $0[number] = next }
    }

    func end() async throws -> [Int32] {
        var statuses: [Int32] = []
        for instance in instances.withLock({ $0 }) { statuses.append(try await instance.child.end()) }
        for relay in relays { relay.stop() }
        return statuses
    }
}
