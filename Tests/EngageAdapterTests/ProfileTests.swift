import Experimentation
import Synchronization
import Testing

@testable import EngageAdapter

@Suite("What is kept of an installation")
struct ProfileTests {
    @Test("changes at once from many tasks are all kept, whoever waits for whom", .timeLimit(.minutes(1)))
    func manyChanges() async throws {
        for round in 0..<200 {
            let store = InMemoryStateStore()
            let profile = EngageProfile(store: store, key: "p")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<64 {
                    let priority: TaskPriority = number.isMultiple(of: 2) ? .high : .low
                    group.addTask(priority: priority) {
                        try await profile.update { $0.note(recipient: "r\(number)", of: "m\(number)") }
                    }
                }
                try await group.waitForAll()
            }
            let next = EngageProfile(store: store, key: "p")
            try await next.load()
            #expect(next.record.others.count == 64, "round \(round)")
        }
    }

    @Test("a change that can't be kept says so, and the next one keeps both")
    func failure() async throws {
        let store = FlakyStateStore()
        let profile = EngageProfile(store: store, key: "p")
        await #expect(throws: ExperimentationError.self) { try await profile.storeMobileUserID("m") }
        try await profile.storeRecipientID("r")
        let next = EngageProfile(store: store, key: "p")
        try await next.load()
        #expect([next.mobileUserID, next.recipientID] == ["m", "r"])
    }
}

/// A store whose first write fails.
private final class FlakyStateStore: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()
    private let hasFailed = Mutex(false)

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        let fails = hasFailed.withLock { hasFailed in
            defer { hasFailed = true }
            return !hasFailed
        }
        if fails { throw ExperimentationError(.store, "the first write fails") }
        try await baseState.setValue(value, for: key)
    }
}
