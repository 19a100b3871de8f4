# SPDX-License-Identifier: Apache-2.0
"""The nets of the workloads in PyTorch, by the same definitions as fare's own: layers, start, optimizer."""
import re

import torch
from torch import nn
from torch.nn import functional as F


def glorot(module):
    """Dense and convolution weights uniform by fan, biases zero; LSTM and embedding as defined."""
    for name, p in module.named_parameters():
        if "weight_hh" in name:
            for gate in p.data.chunk(4):
                nn.init.orthogonal_(gate)
        elif "weight_ih" in name:
            nn.init.xavier_uniform_(p)
        elif "bias" in name:
            nn.init.zeros_(p)
            if "bias_ih" in name:
                p.data[p.numel() // 4:p.numel() // 2] = 1  # the forget gate
            if "bias_hh" in name:
                p.requires_grad_(False)  # one bias vector
        elif "embedding" in name:
            nn.init.uniform_(p, -0.05, 0.05)
        elif p.dim() > 1:
            nn.init.xavier_uniform_(p)


def start(net, values):
    """Takes fare's initial parameters, which come in the net's own order."""
    for p, value in zip(trained(net), values, strict=True):
        if p.shape != value.shape:
            raise ValueError(f"a parameter of fare's net has the shape {tuple(value.shape)}, not {tuple(p.shape)}")
        p.data.copy_(value)


class Digits(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.one, self.two, self.three = nn.Linear(784, 512), nn.Linear(512, 512), nn.Linear(512, classes)

    def forward(self, x):
        x = F.dropout(F.relu(self.one(x.flatten(1))), 0.2, self.training)
        return self.three(F.dropout(F.relu(self.two(x)), 0.2, self.training))


class DigitsConv(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.one, self.two = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.three, self.four = nn.Linear(9216, 128), nn.Linear(128, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.two(F.relu(self.one(x)))), 2)
        x = F.dropout(x, 0.25, self.training).flatten(1)
        return self.four(F.dropout(F.relu(self.three(x)), 0.5, self.training))


class Photographs(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 32, 3)
        self.c, self.d = nn.Conv2d(32, 64, 3, padding=1), nn.Conv2d(64, 64, 3)
        self.e, self.f = nn.Linear(2304, 512), nn.Linear(512, classes)

    def forward(self, x):
        x = F.dropout(F.max_pool2d(F.relu(self.b(F.relu(self.a(x)))), 2), 0.25, self.training)
        x = F.dropout(F.max_pool2d(F.relu(self.d(F.relu(self.c(x)))), 2), 0.25, self.training)
        return self.f(F.dropout(F.relu(self.e(x.flatten(1))), 0.5, self.training))


class CellByCell(nn.LSTM):
    """The same layer without a fused one below it: each time step is a few operations of its own, with autograd's backwards."""

    def one_way(self, x, end, times):
        w_ih, w_hh, b_ih, b_hh = (getattr(self, f"{name}_l0{end}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        h = c = x.new_zeros(len(x), self.hidden_size)
        states = []
        for t in times:
            i, f, g, o = (F.linear(x[:, t], w_ih, b_ih) + F.linear(h, w_hh, b_hh)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        return torch.stack(states, 1), h, c

    def forward(self, x):
        times = range(x.shape[1])
        ways = [self.one_way(x, "", times)]
        if self.bidirectional:
            states, h, c = self.one_way(x, "_reverse", reversed(times))
            ways.append((states.flip(1), h, c))
        states, h, c = zip(*ways)
        return torch.cat(states, 2), (torch.stack(h), torch.stack(c))


class BothWays(nn.Module):
    def __init__(self, vocabulary, lstm=nn.LSTM):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 128)
        self.lstm = lstm(128, 64, batch_first=True, bidirectional=True)
        self.dense = nn.Linear(128, 1)

    def forward(self, x):
        _, (h, _) = self.lstm(self.embedding(x))
        return self.dense(F.dropout(torch.cat((h[0], h[1]), 1), 0.5, self.training)).squeeze(1)


class NextCharacter(nn.Module):
    def __init__(self, vocabulary, lstm=nn.LSTM):
        super().__init__()
        self.vocabulary = vocabulary
        self.lstm, self.dense = lstm(vocabulary, 128, batch_first=True), nn.Linear(128, vocabulary)

    def forward(self, x):
        states, _ = self.lstm(F.one_hot(x, self.vocabulary).float())
        return self.dense(states[:, -1])


class Unit(nn.Module):
    """Convolution, batch norm, relu."""

    def __init__(self, inputs, text):
        super().__init__()
        m = re.fullmatch(r"(\d+) (\d)x(\d)(s2)?(V)?", text)
        filters, h, w = int(m[1]), int(m[2]), int(m[3])
        pad = (0, 0) if m[5] else (h // 2, w // 2)
        self.conv = nn.Conv2d(inputs, filters, (h, w), 2 if m[4] else 1, pad, bias=False)
        self.norm = nn.BatchNorm2d(filters, eps=0.001, momentum=0.0003)
        self.out = filters

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)), inplace=True)


def chain(inputs, text):
    units = []
    for part in text.split(", "):
        units.append(Unit(units[-1].out if units else inputs, part))
    return nn.Sequential(*units), units[-1].out


class Branches(nn.Module):
    """Branches side by side, each a text of units; 'avg …', 'max' and '… | a | b' (a fork) too."""

    def __init__(self, inputs, *texts):
        super().__init__()
        self.out, parts = 0, []
        for text in texts:
            if text == "max":
                part, out = nn.MaxPool2d(3, 2), inputs
            elif text.startswith("avg "):
                tail, out = chain(inputs, text[4:])
                part = nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), tail)
            elif "|" in text:
                head, *forks = text.split(" | ")
                first, middle = chain(inputs, head)
                fork = Branches(middle, *forks)
                part, out = nn.Sequential(first, fork), fork.out
            else:
                part, out = chain(inputs, text)
            parts.append(part)
            self.out += out
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        return torch.cat([p(x) for p in self.parts], 1)


def inception(classes):
    a = ("96 1x1", "64 1x1, 96 3x3", "64 1x1, 96 3x3, 96 3x3", "avg 96 1x1")
    b = ("384 1x1", "192 1x1, 224 1x7, 256 7x1", "192 1x1, 192 7x1, 224 1x7, 224 7x1, 256 1x7", "avg 128 1x1")
    c = ("256 1x1", "384 1x1 | 256 1x3 | 256 3x1", "384 1x1, 448 3x1, 512 1x3 | 256 1x3 | 256 3x1", "avg 256 1x1")
    stem, out = chain(3, "32 3x3s2V, 32 3x3V, 64 3x3")
    blocks = [stem]
    for texts in (("max", "96 3x3s2V"), ("64 1x1, 96 3x3V", "64 1x1, 64 1x7, 64 7x1, 96 3x3V"), ("192 3x3s2V", "max"),
                  *[a] * 4, ("384 3x3s2V", "192 1x1, 224 3x3, 256 3x3s2V", "max"),
                  *[b] * 7, ("192 1x1, 192 3x3s2V", "256 1x1, 256 1x7, 320 7x1, 320 3x3s2V", "max"), *[c] * 3):
        blocks.append(Branches(out, *texts))
        out = blocks[-1].out
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(out, classes))


class SlimRMSprop(torch.optim.Optimizer):
    """As Inception's original has it: the averages start at 1 and epsilon stands inside the root."""

    def __init__(self, parameters, rate, decay=0.9, momentum=0.9, epsilon=1.0):
        super().__init__(parameters, {"lr": rate, "decay": decay, "momentum": momentum, "epsilon": epsilon, "l2": 0.0})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            ps = [p for p in group["params"] if p.grad is not None]
            if not ps:
                continue
            for p in ps:
                if not self.state[p]:
                    self.state[p] = {"square": torch.ones_like(p), "momentum": torch.zeros_like(p)}
            grads = [p.grad for p in ps]
            if group["l2"]:
                grads = torch._foreach_add(grads, ps, alpha=group["l2"])
            squares, moments = ([self.state[p][k] for p in ps] for k in ("square", "momentum"))
            torch._foreach_mul_(squares, group["decay"])
            torch._foreach_addcmul_(squares, grads, grads, 1 - group["decay"])
            roots = torch._foreach_sqrt(torch._foreach_add(squares, group["epsilon"]))
            torch._foreach_mul_(moments, group["momentum"])
            torch._foreach_addcdiv_(moments, grads, roots, group["lr"])
            torch._foreach_sub_(ps, moments)


def slim_rmsprop(net):
    """L2 on the weights of convolutions and dense layers alone."""
    weights = [p for p in net.parameters() if p.requires_grad and p.dim() > 1]
    others = [p for p in net.parameters() if p.requires_grad and p.dim() <= 1]
    return SlimRMSprop([{"params": weights, "l2": 4e-5}, {"params": others}], 1e-4)


def trained(net):
    return [p for p in net.parameters() if p.requires_grad]


def rmsprop(rate):
    return lambda net: torch.optim.RMSprop(trained(net), rate, 0.9)


def adam(net):
    try:
        return torch.optim.Adam(trained(net), 1e-3, fused=True)
    except RuntimeError:  # on CPUs only since PyTorch 2.4
        return torch.optim.Adam(trained(net), 1e-3)


class Workload:
    def __init__(self, build, batch, epochs, optimizer):
        self.build, self.batch, self.epochs, self.optimizer = build, batch, epochs, optimizer


# `build` gets the number of classes, or of different tokens.
WORKLOADS = {
    "mlp": Workload(Digits, 128, 20, rmsprop(0.001)),
    "cnn": Workload(DigitsConv, 128, 12, lambda net: torch.optim.Adadelta(trained(net), 1.0, 0.95, eps=1e-8)),
    "cifar": Workload(Photographs, 32, 20, rmsprop(1e-4)),
    "imdb": Workload(BothWays, 32, 4, adam),
    "tweets": Workload(BothWays, 32, 4, adam),
    "textgen": Workload(NextCharacter, 128, 10, rmsprop(0.01)),
    "inception": Workload(inception, 32, 0, slim_rmsprop),
}


def loss_of(name, out, labels):
    if name in ("imdb", "tweets"):
        return F.binary_cross_entropy_with_logits(out, labels.float())
    return F.cross_entropy(out, labels)


def guess_of(name, out):
    return (out > 0).long() if name in ("imdb", "tweets") else out.argmax(1)


def train_step(name, net, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = loss_of(name, net(x), y)
    loss.backward()
    optimizer.step()
    return loss
