import Experimentation

/// The remote switches of several vendors as one; disables the composition when all deciding vendors are off.
struct ComposedSwitch: RemoteSwitch {
    let parts: Parts

    func ask() async -> RemoteSwitchAnswer {
        let asked = parts.all.filter { $0.roles.remoteSwitch != nil }
        let answers = await asked.indices.asyncMap { index in await asked[index].roles.remoteSwitch?.ask() }
        var wait: Duration?
        for (part, answer) in zip(asked, answers) {
            guard let answer else { continue }
            if let isOff = answer.isOff { await part.killSwitch.set(isOff) }
            wait = wait.map { min($0, answer.wait) } ?? answer.wait
        }
        let isKnown = answers.contains { $0?.isOff != nil }
        return RemoteSwitchAnswer(isOff: isKnown ? parts.areOff : nil, wait: wait ?? .seconds(3_600))
    }
}
