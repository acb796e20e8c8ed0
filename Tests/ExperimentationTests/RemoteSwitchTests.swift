import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import Experimentation

@Suite("A vendor's switch that the client polls")
struct RemoteSwitchTests {
    /// A remote switch that answers as scripted.
    private final class Switch: RemoteSwitch {
        let answer = Mutex<(isOff: Bool?, count: Int)>((nil, 0))

        func ask() async -> RemoteSwitchAnswer {
            answer.withLock { answer in
                answer.count += 1
                return RemoteSwitchAnswer(isOff: answer.isOff, wait: .seconds(60))
            }
        }
        func set(_ isOff: Bool?) { answer.withLock { $0.isOff = isOff } }
        var count: Int { answer.withLock(\.count) }
    }

    private struct Provider: ExperimentationProvider {
        let name = "switched"
        let scope = "a"
        let capabilities: Set<Capability> = []
        let remoteSwitch: Switch
        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            var roles = ProviderRoles()
            roles.remoteSwitch = remoteSwitch
            return roles
        }
    }

    @Test("the switch is requested at the start and after each wait, and shown in the status")
    func bothWays() async throws {
        let (remote, time) = (Switch(), ManualTime())
        let client = try await ExperimentationClient(
            provider: Provider(remoteSwitch: remote),
            environment: ClientEnvironment(time: time, log: NoLog())
        )
        try await eventually("asked") { remote.count == 1 }
        #expect(client.status == .notReady)
        remote.set(true)
        await time.waitForSleepers(1)
        time.advance(by: .seconds(60))
        try await eventually("off") { client.status == .disabled }
        // No answer changes nothing.
        remote.set(nil)
        await time.waitForSleepers(1)
        time.advance(by: .seconds(60))
        try await eventually("asked again") { remote.count == 3 }
        #expect(client.status == .disabled)
        remote.set(false)
        await time.waitForSleepers(1)
        time.advance(by: .seconds(60))
        try await eventually("on") { client.status == .ready }
        await client.shutdown(within: .zero)
        #expect(remote.count == 4)
    }

    @Test("the switch's state is known to the next run, which can lift it")
    func nextRun() async throws {
        let (remote, store) = (Switch(), ClientStore.inMemory())
        remote.set(true)
        let first = try await ExperimentationClient(provider: Provider(remoteSwitch: remote), store: store)
        try await eventually("off") { first.status == .disabled }
        await first.shutdown(within: .zero)
        remote.set(nil)
        let second = try await ExperimentationClient(provider: Provider(remoteSwitch: remote), store: store)
        #expect(second.status == .disabled)
        await second.shutdown(within: .zero)
        remote.set(false)
        let third = try await ExperimentationClient(provider: Provider(remoteSwitch: remote), store: store)
        try await eventually("on") { third.status == .ready }
        await third.shutdown(within: .zero)
    }
}
