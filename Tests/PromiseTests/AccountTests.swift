import AdapterKit
import EngageAdapter
import EvergageAdapter
import Experimentation
import FlagshipAdapter
import SigmaAdapter
import Testing

/// The names of accounts in a store; if one changed, its waiting events would belong to no account.
@Suite("An account keeps its name in the store from version to version")
struct AccountTests {
    @Test(
        "Flagship",
        arguments: [
            (
                FlagshipConfiguration.Mode.decisionAPI,
                "fd9554698375dabb707e1a59bb835b5b137bddbaabff8135510b1ad97cb5246e"
            ),
            (.bucketing, "4d1e529b2aaf97c2be6e4fb8b0e0a9f24b89803128b4c94e4c85bfb05c242830"),
        ]
    )
    func flagship(mode: FlagshipConfiguration.Mode, account: String) {
        let configuration = FlagshipConfiguration(environmentID: "bkk9glocmjcg0vtmdlng", apiKey: "key", mode: mode)
        #expect(FlagshipProvider(configuration: configuration).destination.account == account)
    }

    @Test("Sigma")
    func sigma() {
        let own = SigmaConfiguration(projectToken: "token")
        let other = SigmaConfiguration(
            projectToken: "token",
            endpoint: Endpoint(https: "sigma.example", path: "/api/v1")
        )
        let accounts = [own, other].map { SigmaProvider(configuration: $0).destination.account }
        #expect(
            accounts == [
                "574a07782c6de6ca4b87a6c223e33704fb63385851af87106e5b72906b4ea2b7",
                "2f88131b7684eee08f3d24963366484dfb821d46d5a54df0767f2b548619c7e6",
            ]
        )
    }

    @Test("Engage, with and without a slash after the host", arguments: ["", "/"])
    func engage(end: String) throws {
        let configuration = try EngageConfiguration(
            host: "https://api2.example.test" + end,
            credentials: .init(clientID: "client", clientSecret: "secret", refreshToken: "refresh"),
            listID: "23949"
        )
        let account = EngageProvider(configuration: configuration).destination.account
        #expect(account == "be29f020e3575cadef6631d9d528b37aa70f9c72fcb28236ee15cbdb10ba9213")
    }

    @Test("Evergage")
    func evergage() throws {
        let own = try EvergageConfiguration(account: "acme.us-1", dataset: "engage")
        let other = try EvergageConfiguration(
            account: "acme",
            dataset: "engage",
            endpoint: Endpoint(https: "evergage.example")
        )
        let accounts = [own, other].map { EvergageProvider(configuration: $0).destination.account }
        #expect(
            accounts == [
                "c1a4584f907d70eabb0e5118278af2ac4112097110c90afbe8f4d7db90aee33f",
                "e6682f5b8302c7c768e6db62ca8e4c87cda5c22d1e2d7536217e491b62877fb8",
            ]
        )
    }
}
