/* Functions of large Integers that take the place of those of the same names in mruby's core/bigint.c, which answer
 * wrongly. The patch integers says where they stand, and mruby/series puts them there, without this comment. */

static void
mpz_set_int(mrb_state *mrb, mpz_t *y, mrb_int v)
{
  mrb_uint u = v < 0 ? 0 - (mrb_uint)v : (mrb_uint)v;

  zero(y);
  if (u == 0) return;
  mpz_realloc(mrb, y, sizeof(u) / sizeof(mp_limb));
  for (size_t i = 0; i < y->sz; i++) {
    y->p[i] = (mp_limb)LOW(u);
    u = u >> (DIG_SIZE - 1) >> 1;
  }
  y->sn = v < 0 ? -1 : 1;
  trim(y);
}

static int
mpz_get_int(mpz_t *y, mrb_int *v)
{
  mrb_uint u = 0, most = y->sn < 0 ? (mrb_uint)MRB_INT_MAX + 1 : (mrb_uint)MRB_INT_MAX;

  for (size_t i = digits(y); i-- > 0;) {
    if (u > (~(mrb_uint)0 >> DIG_SIZE)) return FALSE;
    u = (u << (DIG_SIZE - 1) << 1) | y->p[i];
  }
  if (u > most) return FALSE;
  *v = (mrb_int)(y->sn < 0 ? 0 - u : u);
  return TRUE;
}

/* Several digits at a time, so that long numbers do not take as many multiplications as they have digits. */
static int
mpz_init_set_str(mrb_state *mrb, mpz_t *x, const char *s, mrb_int len, mrb_int base)
{
  const char *end = s + len;
  short sn = 1;

  mpz_init(mrb, x);
  if (s < end && *s == '-') {
    sn = -1;
    s++;
  }
  while (s < end) {
    mp_dbl_limb part = 0, unit = 1;
    for (; s < end && unit * (mp_dbl_limb)base <= DIG_MASK; s++) {
      int digit = *s == '_' ? -1 : ISDIGIT(*s) ? *s - '0' : TOLOWER(*s) - 'a' + 10;
      if (digit < 0) continue;
      if (digit >= base) return -1;
      part = part * base + digit;
      unit *= base;
    }
    /* x = x * unit + part */
    for (size_t i = 0; i < x->sz; i++) {
      part += x->p[i] * unit;
      x->p[i] = (mp_limb)LOW(part);
      part = HIGH(part);
    }
    if (part) {
      mpz_realloc(mrb, x, x->sz + 1);
      x->p[x->sz - 1] = (mp_limb)part;
    }
  }
  x->sn = x->sz == 0 ? 0 : sn;
  return 0;
}

/* z = x >> e; what is negative goes towards minus infinity. */
static void
mpz_div_2exp(mrb_state *mrb, mpz_t *z, mpz_t *x, mrb_int e)
{
  size_t limbs = (size_t)e / DIG_SIZE, bits = (size_t)e % DIG_SIZE, size = digits(x);
  mp_limb lost = 0;
  short sn = x->sn;
  mpz_t y;

  for (size_t i = 0; i < limbs && i < size; i++) lost |= x->p[i];
  mpz_init(mrb, &y);
  if (limbs < size) {
    mpz_realloc(mrb, &y, size - limbs);
    for (size_t i = limbs; i < size; i++) y.p[i - limbs] = x->p[i];
    lost |= y.p[0] & (((mp_limb)1 << bits) - 1);
    urshift(mrb, &y, &y, bits);
    trim(&y);
  }
  y.sn = y.sz == 0 ? 0 : sn;
  if (sn < 0 && lost) mpz_sub_int(mrb, &y, &y, 1);
  mpz_move(mrb, z, &y);
}

enum bits { BITS_AND, BITS_OR, BITS_XOR };

/* The next limb of a number in two's complement; `carry` begins as 1 for a negative one. */
static mp_limb
complement(mpz_t *x, size_t i, mp_dbl_limb *carry)
{
  if (x->sn >= 0) return dg(x, i);
  mp_dbl_limb limb = (mp_dbl_limb)(mp_limb)~dg(x, i) + *carry;
  *carry = HIGH(limb);
  return (mp_limb)LOW(limb);
}

/* One limb more than the larger number has, which holds the signs. */
static void
mpz_bits(mrb_state *mrb, mpz_t *zz, mpz_t *x, mpz_t *y, enum bits how)
{
  size_t size = imax(digits(x), digits(y)) + 1;
  mp_dbl_limb of_x = 1, of_y = 1;
  mpz_t z;

  mpz_init(mrb, &z);
  mpz_realloc(mrb, &z, size);
  for (size_t i = 0; i < size; i++) {
    mp_limb one = complement(x, i, &of_x), two = complement(y, i, &of_y);
    z.p[i] = how == BITS_AND ? one & two : how == BITS_OR ? one | two : one ^ two;
  }
  z.sn = z.p[size - 1] >> (DIG_SIZE - 1) ? -1 : 1;
  if (z.sn < 0) {
    mp_dbl_limb carry = 1;
    for (size_t i = 0; i < size; i++) z.p[i] = complement(&z, i, &carry);
  }
  trim(&z);
  if (z.sz == 0) z.sn = 0;
  mpz_move(mrb, zz, &z);
}

static void
mpz_and(mrb_state *mrb, mpz_t *z, mpz_t *x, mpz_t *y)
{
  mpz_bits(mrb, z, x, y, BITS_AND);
}

static void
mpz_or(mrb_state *mrb, mpz_t *z, mpz_t *x, mpz_t *y)
{
  mpz_bits(mrb, z, x, y, BITS_OR);
}

static void
mpz_xor(mrb_state *mrb, mpz_t *z, mpz_t *x, mpz_t *y)
{
  mpz_bits(mrb, z, x, y, BITS_XOR);
}

static struct RBigint *bint_new(mrb_state *mrb);

/* The result has the sign of n, as that of % has. The garbage collector owns the numbers in between: a product may be
 * too large. */
static void
mpz_powm(mrb_state *mrb, mpz_t *zz, mpz_t *x, mpz_t *ex, mpz_t *n)
{
  mp_limb limbs[INT_LIMBS];
  mpz_t one, *b = &bint_new(mrb)->mp;
  size_t len = digits(ex);

  mpz_small(&one, limbs, 1);
  mpz_mmod(mrb, zz, &one, n);
  mpz_mmod(mrb, b, x, n);
  for (size_t i = 0; i < len * DIG_SIZE; i++) {
    if (ex->p[i / DIG_SIZE] >> (i % DIG_SIZE) & 1) {
      mpz_mul(mrb, zz, zz, b);
      mpz_mmod(mrb, zz, zz, n);
    }
    mpz_mul(mrb, b, b, b);
    mpz_mmod(mrb, b, b, n);
  }
}

static void
mpz_powm_i(mrb_state *mrb, mpz_t *zz, mpz_t *x, mrb_int ex, mpz_t *n)
{
  mp_limb limbs[INT_LIMBS];
  mpz_t e;

  mpz_small(&e, limbs, ex);
  mpz_powm(mrb, zz, x, &e, n);
}

/* How many bits the number has, without regard for its sign. */
static size_t
mpz_bit_count(mpz_t *x)
{
  size_t size = digits(x);
  return size == 0 || x->p[size - 1] == 0 ? 0 : size * DIG_SIZE - lzb(x->p[size - 1]);
}
