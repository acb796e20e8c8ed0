import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Testing

@testable import SigmaAdapter

/// A device with its store, its clock and a mock vendor with the reference configuration.
final class Stage: Sendable {
    let sigma: SigmaMock
    let transport: MockTransport
    let time = ManualTime(now: Reference.noon)
    let store = InMemoryStateStore()

    init(_ sample: String = "config-reference.json") throws {
        sigma = SigmaMock(configuration: String(decoding: try Reference.bytes(sample), as: UTF8.self))
        transport = MockTransport(sigma)
    }

    init(configuration: String) {
        sigma = SigmaMock(configuration: configuration)
        transport = MockTransport(sigma)
    }

    /// The options of all clients here.
    var options: SigmaClientOptions {
        var options = SigmaClientOptions(store: store)
        // The cases check which error occurs; calls that return nothing instead are the default, tested separately.
        options.failures = .thrown
        options.transport = transport
        options.environment = ClientEnvironment(time: time, jitter: { 0.5 })
        options.device = Reference.device
        return options
    }

    /// Returns the user of the numbered cases: id `u-1`, iOS, version 2.10.0.
    func user(
        _ id: String = "u-1",
        _ build: (SigmaUser.Builder) -> SigmaUser.Builder = { $0 }
    ) -> SigmaUser {
        build(SigmaUser.Builder(time: time).setUserId(id).setOsName("iOS").setAppVersion("2.10.0")).build()
    }

    /// Creates a client in a new registry, as after the start of the application.
    func client(
        _ user: SigmaUser? = nil,
        apiURL: String = "https://sigma.example/api/v1/",
        cacheTTL: UInt = 10,
        retryCount: UInt = 0,
        tag: String = "default",
        token: String = SigmaMock.token,
        change: (inout SigmaClientOptions) -> Void = { _ in }
    ) throws -> SigmaClient {
        var options = options
        change(&options)
        return try SigmaClientRegistry().initializeClient(
            projectToken: token,
            initialUser: user,
            apiURL: apiURL,
            cacheTTL: cacheTTL,
            retryCount: retryCount,
            tag: tag,
            options: options
        )
    }
}

/// Returns the error of a call in its own words; `nil` if it succeeded.
func failure<Value>(_ work: () async throws(SigmaError) -> Value) async -> String? {
    do throws(SigmaError) {
        _ = try await work()
        return nil
    } catch {
        return "\(error)"
    }
}

extension SigmaClient {
    /// Returns the flag as text, for cases in which its type doesn't matter.
    func text(_ flag: String) async throws(SigmaError) -> String? { try await checkFlag(flagName: flag) }
}

extension HTTPFields {
    /// The private id in a request.
    var userID: String? { HTTPField.Name("user-id").flatMap { self[$0] } }
}
